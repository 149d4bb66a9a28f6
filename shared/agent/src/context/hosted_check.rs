//! Checks of the provider-hosted tools that a context declares.

use std::collections::HashSet;

use crate::{fault::FaultCollector, mode::string_check::check_line, model::hosted_tools::HostedTool, tool};

/// The maximum number of hosted tools in a context.
pub(super) const MAX_HOSTED_TOOLS: usize = 8;
/// The maximum number of entries in a list, and of characters in an entry.
const MAX_ENTRIES: usize = 100;
const MAX_ENTRY_CHARS: usize = 256;
/// The maximum number of stores in one file search.
const MAX_STORES: usize = 8;
/// The maximum of `MaxNumResults`; the API accepts no more.
const MAX_RESULTS: u32 = 50;
const MAX_URL_CHARS: usize = 1_024;
const MAX_DESCRIPTION_CHARS: usize = 1_000;

/// Checks `HostedTools` of a context.
pub(super) fn check(tools: &[HostedTool], at: &str, faults: &mut FaultCollector) {
    let at = format!("{at}.HostedTools");
    faults.require(
        tools.len() <= MAX_HOSTED_TOOLS,
        at.as_str(),
        format_args!("must hold at most {MAX_HOSTED_TOOLS} tools"),
    );
    let mut kinds = HashSet::new();
    for (n, tool) in tools.iter().enumerate() {
        let at = format!("{at}[{n}]");
        let kind = match tool {
            HostedTool::WebSearch { .. } => "web_search",
            HostedTool::FileSearch { .. } => "file_search",
            HostedTool::CodeInterpreter { .. } => "code_interpreter",
            HostedTool::Mcp { server_label, .. } => server_label,
        };
        let member = if matches!(tool, HostedTool::Mcp { .. }) { "ServerLabel" } else { "Type" };
        let what = format_args!("{kind:?} is declared twice");
        faults.require(kinds.insert((member, kind)), format!("{at}.{member}"), what);
        check_tool(tool, &at, faults);
    }
}

fn check_tool(tool: &HostedTool, at: &str, faults: &mut FaultCollector) {
    match tool {
        HostedTool::WebSearch { search_context_size: _, allowed_domains } => {
            check_entries(allowed_domains, MAX_ENTRIES, is_domain, &format!("{at}.AllowedDomains"), faults);
        }
        HostedTool::FileSearch { vector_store_ids, max_num_results } => {
            let at_ids = format!("{at}.VectorStoreIds");
            faults.require(!vector_store_ids.is_empty(), at_ids.as_str(), "must name at least one store");
            check_entries(vector_store_ids, MAX_STORES, is_id, &at_ids, faults);
            let fits = max_num_results.is_none_or(|max| (1..=MAX_RESULTS).contains(&max));
            let what = format_args!("must be from 1 to {MAX_RESULTS}");
            faults.require(fits, format!("{at}.MaxNumResults"), what);
        }
        HostedTool::CodeInterpreter { file_ids, memory_limit: _ } => {
            check_entries(file_ids, MAX_ENTRIES, is_id, &format!("{at}.FileIds"), faults);
        }
        HostedTool::Mcp { server_label, server_url, server_description, allowed_tools } => {
            faults.require(
                tool::is_valid_name(server_label),
                format!("{at}.ServerLabel"),
                tool::DefinitionFault::InvalidName,
            );
            faults.require(
                is_bare_https_url(server_url),
                format!("{at}.ServerUrl"),
                format_args!(
                    "must be an https URL of at most {MAX_URL_CHARS} characters without user, query or fragment: a context holds no secret"
                ),
            );
            if let Some(description) = server_description {
                check_line(description, MAX_DESCRIPTION_CHARS, &format!("{at}.ServerDescription"), faults);
            }
            check_entries(allowed_tools, MAX_ENTRIES, is_id, &format!("{at}.AllowedTools"), faults);
        }
    }
}

fn check_entries(
    entries: &[String],
    max: usize,
    fits: fn(&str) -> bool,
    at: &str,
    faults: &mut FaultCollector,
) {
    faults.require(entries.len() <= max, at, format_args!("must hold at most {max} entries"));
    for (n, entry) in entries.iter().enumerate() {
        let fits = !entry.is_empty() && entry.len() <= MAX_ENTRY_CHARS && fits(entry);
        let what =
            format_args!("must have 1 to {MAX_ENTRY_CHARS} characters, only letters, digits, - . and _");
        faults.require(fits, format!("{at}[{n}]"), what);
    }
}

fn is_id(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
}

fn is_domain(text: &str) -> bool {
    is_id(text) && !text.starts_with('.') && !text.ends_with('.')
}

fn is_bare_https_url(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("https://") else { return false };
    let host = rest.split('/').next().unwrap_or_default();
    !host.is_empty()
        && text.len() <= MAX_URL_CHARS
        && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"@?#\"<>\\^`{|}".contains(&byte))
}
