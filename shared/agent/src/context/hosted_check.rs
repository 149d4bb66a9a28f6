//! What has to hold for the provider's tools that a context declares.

use std::collections::HashSet;

use crate::{fault::Found, hosted::HostedTool, mode::wording::line, tool};

/// The most hosted tools of a context.
pub(super) const MOST: usize = 8;
/// The most entries of a list, and characters of one.
const MOST_ENTRIES: usize = 100;
const MAX_ENTRY_CHARS: usize = 256;
/// The most stores that one search looks into.
const MOST_STORES: usize = 8;
/// `MaxNumResults`; the API takes no more.
const MOST_RESULTS: u32 = 50;
const MAX_URL_CHARS: usize = 1_024;
const MAX_DESCRIPTION_CHARS: usize = 1_000;

/// Checks `HostedTools` of a context.
pub(super) fn check(tools: &[HostedTool], at: &str, found: &mut Found) {
    let at = format!("{at}.HostedTools");
    found.unless(tools.len() <= MOST, at.as_str(), format_args!("must hold at most {MOST} tools"));
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
        found.unless(kinds.insert((member, kind)), format!("{at}.{member}"), what);
        one(tool, &at, found);
    }
}

fn one(tool: &HostedTool, at: &str, found: &mut Found) {
    match tool {
        HostedTool::WebSearch { search_context_size: _, allowed_domains } => {
            entries(allowed_domains, MOST_ENTRIES, is_domain, &format!("{at}.AllowedDomains"), found);
        }
        HostedTool::FileSearch { vector_store_ids, max_num_results } => {
            let at_ids = format!("{at}.VectorStoreIds");
            found.unless(!vector_store_ids.is_empty(), at_ids.as_str(), "must name a store at least");
            entries(vector_store_ids, MOST_STORES, is_id, &at_ids, found);
            let fits = max_num_results.is_none_or(|most| (1..=MOST_RESULTS).contains(&most));
            let what = format_args!("must be from 1 to {MOST_RESULTS}");
            found.unless(fits, format!("{at}.MaxNumResults"), what);
        }
        HostedTool::CodeInterpreter { file_ids, memory_limit: _ } => {
            entries(file_ids, MOST_ENTRIES, is_id, &format!("{at}.FileIds"), found);
        }
        HostedTool::Mcp { server_label, server_url, server_description, allowed_tools } => {
            found.unless(tool::is_name(server_label), format!("{at}.ServerLabel"), tool::Why::Name);
            found.unless(
                is_plain_url(server_url),
                format!("{at}.ServerUrl"),
                format_args!(
                    "must be an https URL of at most {MAX_URL_CHARS} characters without user, query or fragment: a context holds no secret"
                ),
            );
            if let Some(description) = server_description {
                line(description, MAX_DESCRIPTION_CHARS, &format!("{at}.ServerDescription"), found);
            }
            entries(allowed_tools, MOST_ENTRIES, is_id, &format!("{at}.AllowedTools"), found);
        }
    }
}

fn entries(entries: &[String], most: usize, fits: fn(&str) -> bool, at: &str, found: &mut Found) {
    found.unless(entries.len() <= most, at, format_args!("must hold at most {most} entries"));
    for (n, entry) in entries.iter().enumerate() {
        let fits = !entry.is_empty() && entry.len() <= MAX_ENTRY_CHARS && fits(entry);
        let what =
            format_args!("must have 1 to {MAX_ENTRY_CHARS} characters, only letters, digits, - . and _");
        found.unless(fits, format!("{at}[{n}]"), what);
    }
}

fn is_id(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
}

fn is_domain(text: &str) -> bool {
    is_id(text) && !text.starts_with('.') && !text.ends_with('.')
}

fn is_plain_url(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("https://") else { return false };
    let host = rest.split('/').next().unwrap_or_default();
    !host.is_empty()
        && text.len() <= MAX_URL_CHARS
        && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"@?#\"<>\\^`{|}".contains(&byte))
}
