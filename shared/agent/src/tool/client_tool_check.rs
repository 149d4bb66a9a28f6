//! Checks of the client tools that a context or a mode declares, beyond the rules of their members.

use std::collections::HashSet;

use super::{Definition, MAX_TOOLS, check};
use crate::fault::FaultCollector;

/// The maximum number of client tools in a mode.
const MAX_MODE_TOOLS: usize = 16;

/// Checks `ClientTools` of a context that also declares `hosted` tools of the provider.
pub(crate) fn check_context_tools(
    tools: &[Definition],
    server_tools: &[&str],
    hosted: usize,
    at: &str,
    faults: &mut FaultCollector,
) {
    check_tools(tools, server_tools, max_context_tools(server_tools).saturating_sub(hosted), at, faults);
}

/// Checks `ClientTools` of a mode.
pub(crate) fn check_mode_tools(
    tools: &[Definition],
    server_tools: &[&str],
    at: &str,
    faults: &mut FaultCollector,
) {
    check_tools(tools, server_tools, MAX_MODE_TOOLS, at, faults);
}

/// Returns the maximum number of client tools in a context. A request offers an agent's, a conversation's and a
/// mode's tools together with the server's, and must stay within [`MAX_TOOLS`].
pub(crate) fn max_context_tools(server_tools: &[&str]) -> usize {
    MAX_TOOLS.saturating_sub(server_tools.len() + MAX_MODE_TOOLS) / 2
}

fn check_tools(
    tools: &[Definition],
    server_tools: &[&str],
    max: usize,
    at: &str,
    faults: &mut FaultCollector,
) {
    let at = format!("{at}.ClientTools");
    faults.require(tools.len() <= max, at.as_str(), format_args!("must hold at most {max} tools"));
    let mut names = HashSet::new();
    for (n, tool) in tools.iter().enumerate() {
        let at = format!("{at}[{n}]");
        let name = &tool.name;
        faults.require(
            !server_tools.contains(&name.as_str()),
            format!("{at}.Name"),
            format_args!("{name:?} is the name of a server tool"),
        );
        faults.require(
            names.insert(name),
            format!("{at}.Name"),
            format_args!("another tool is called {name:?} too"),
        );
        for fault in check::check(tool) {
            faults.add(at.as_str(), fault);
        }
    }
}
