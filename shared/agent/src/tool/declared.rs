//! What has to hold for the client tools that a context or a mode declares (ruling: client tools).

use std::collections::HashSet;

use super::{Definition, ExecutedBy, MOST_TOOLS, definition_check};
use crate::fault::Found;

/// The most client tools of a mode.
const MOST_OF_MODE: usize = 16;
/// A tool's `Description`.
pub(crate) const MAX_TOOL_DESCRIPTION_CHARS: usize = 4_000;
/// A tool's `Usage`.
const MAX_TOOL_USAGE_CHARS: usize = 8_000;

/// Checks `ClientTools` of a context that declares so many tools of the provider's besides.
pub(crate) fn of_context(
    tools: &[Definition],
    server_tools: &[&str],
    hosted: usize,
    at: &str,
    found: &mut Found,
) {
    check(tools, server_tools, most_of_context(server_tools).saturating_sub(hosted), at, found);
}

/// Checks `ClientTools` of a mode.
pub(crate) fn of_mode(tools: &[Definition], server_tools: &[&str], at: &str, found: &mut Found) {
    check(tools, server_tools, MOST_OF_MODE, at, found);
}

/// An agent's, a conversation's and a mode's come together, and with them those of the server.
pub(crate) fn most_of_context(server_tools: &[&str]) -> usize {
    MOST_TOOLS.saturating_sub(server_tools.len() + MOST_OF_MODE) / 2
}

fn check(tools: &[Definition], server_tools: &[&str], most: usize, at: &str, found: &mut Found) {
    let at = format!("{at}.ClientTools");
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

/// What holds for every tool, and what more for one that is not the server's.
fn one(tool: &Definition, at: &str, found: &mut Found) {
    for why in definition_check::check(tool) {
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
