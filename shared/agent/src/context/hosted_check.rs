//! Checks of the provider-hosted tools that a context declares, beyond the rules of their members.

use std::collections::HashSet;

use crate::{
    fault::FaultCollector,
    model::hosted_tools::{FileSearch, HostedTool, Mcp},
};

/// Checks `HostedTools` of a context.
pub(super) fn check(tools: &[HostedTool], at: &str, faults: &mut FaultCollector) {
    let mut seen = HashSet::new();
    for (n, tool) in tools.iter().enumerate() {
        let at = format!("{at}.HostedTools[{n}]");
        let (member, name) = match tool {
            HostedTool::Mcp(Mcp { server_label, .. }) => ("ServerLabel", server_label.as_str()),
            other => ("Type", other.type_name()),
        };
        let what = format_args!("{name:?} is declared twice");
        faults.require(seen.insert((member, name)), format!("{at}.{member}"), what);
        if let HostedTool::FileSearch(FileSearch { vector_store_ids, .. }) = tool {
            let what = "must name at least one store";
            faults.require(!vector_store_ids.is_empty(), format!("{at}.VectorStoreIds"), what);
        }
    }
}
