//! What has to hold for the tools that a context declares (ruling: client tools).

use std::collections::HashSet;

use super::limits::{MAX_TOOL_DESCRIPTION_CHARS, MAX_TOOL_USAGE_CHARS};
use crate::{
    fault::Found,
    tool::{self, Definition, ExecutedBy, MOST_TOOLS},
};

/// Checks `ClientTools`.
pub(super) fn check(tools: &[Definition], server_tools: &[&str], at: &str, found: &mut Found) {
    let at = format!("{at}.ClientTools");
    // An agent's and a conversation's come together, and with them those of the server.
    let most = MOST_TOOLS.saturating_sub(server_tools.len()) / 2;
    found.unless(tools.len() <= most, at.as_str(), format_args!("must hold at most {most} tools"));
    let mut names = HashSet::new();
    for (n, tool) in tools.iter().enumerate() {
        let at = format!("{at}[{n}]");
        let name = &tool.name;
        found.unless(
            !server_tools.contains(&name.as_str()),
            format!("{at}.Name"),
            format_args!("{name:?} is the name of a server tool"),
        );
        found.unless(
            names.insert(name),
            format!("{at}.Name"),
            format_args!("another tool is called {name:?} too"),
        );
        one(tool, &at, found);
    }
}

/// What holds for every tool, and what more for one that a context brings.
fn one(tool: &Definition, at: &str, found: &mut Found) {
    for why in tool::check(tool) {
        found.add(at, why);
    }
    found.unless(
        tool.executed_by == ExecutedBy::Client,
        format!("{at}.ExecutedBy"),
        "must be client: server tools come with the service",
    );
    let usage = tool.usage.as_deref().unwrap_or_default();
    for (name, text, most) in [
        ("Description", tool.description.as_str(), MAX_TOOL_DESCRIPTION_CHARS),
        ("Usage", usage, MAX_TOOL_USAGE_CHARS),
    ] {
        let fits = text.chars().nth(most).is_none();
        found.unless(fits, format!("{at}.{name}"), format_args!("must have at most {most} characters"));
    }
}
