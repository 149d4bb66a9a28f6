//! Checks of contexts beyond the rules of their members. They run whenever one is written.

use serde::Serialize;

use super::{ConversationContext, Document, hosted_check, limits::MAX_CONTEXT_BYTES};
use crate::{
    connection,
    fault::FaultCollector,
    members::Members,
    mode::{Catalog, Mode},
    model::model_settings::TextFormat,
    tool::{self, AGENT_CHANGE_MODE, client_tool_check},
    webhook,
};

/// Checks one context. `catalog` has the modes that it may name, or those besides a mode.
pub(super) fn check_document(
    document: &Document,
    catalog: &Catalog,
    server_tools: &[&str],
    at: &str,
    faults: &mut FaultCollector,
) {
    match document {
        Document::AgentContext(context) => {
            context.check_members(at, faults);
            client_tool_check::check_context_tools(&context.client_tools, server_tools, 0, at, faults);
        }
        Document::ConversationContext(context) => {
            check_conversation(context, catalog, server_tools, at, faults);
        }
        Document::Mode(mode) => catalog.check_mode(mode, server_tools, at, faults),
        Document::Connection(connection) => connection::check(connection, at, faults),
        Document::Webhook(webhook) => webhook::check(webhook, at, faults),
    }
    check_size(document, at, faults);
}

fn check_conversation(
    context: &ConversationContext,
    catalog: &Catalog,
    server_tools: &[&str],
    at: &str,
    faults: &mut FaultCollector,
) {
    context.check_members(at, faults);
    if let Some(TextFormat { schema, strict, .. }) = &context.text_format {
        for fault in tool::schema_faults(schema, *strict) {
            faults.add(format!("{at}.TextFormat.Schema"), fault);
        }
    }
    if let Some(mode) = &context.default_mode {
        let offered = catalog.get(mode).is_some_and(Mode::is_offered);
        let what = format_args!("{mode:?} is not a mode that a session can start in");
        faults.require(offered, format!("{at}.DefaultMode"), what);
    }
    let limits = &context.prompt_limits;
    faults.require(
        limits.file_tokens <= limits.total_file_tokens,
        format!("{at}.PromptLimits.FileTokens"),
        "must not be more than TotalFileTokens",
    );
    faults.require(
        !context.history_summary || limits.history_tokens > 0,
        format!("{at}.HistorySummary"),
        "needs PromptLimits.HistoryTokens of more than 0: the summary is made from at most that many tokens",
    );
    hosted_check::check(&context.hosted_tools, at, faults);
    client_tool_check::check_context_tools(
        &context.client_tools,
        server_tools,
        context.hosted_tools.len(),
        at,
        faults,
    );
    check_tool_choice(context, catalog, &format!("{at}.ToolChoiceName"), faults);
}

/// Checks that the session's first turn offers the forced tool. A tool of an agent context can't be forced, since
/// this context may meet another agent. Nor can a tool that only other modes have: the first turns wouldn't offer
/// it.
fn check_tool_choice(
    context: &ConversationContext,
    catalog: &Catalog,
    at: &str,
    faults: &mut FaultCollector,
) {
    let Some(choice) = &context.tool_choice_name else { return };
    let mode = catalog.initial_mode(context.default_mode.as_deref());
    let offered = choice == AGENT_CHANGE_MODE
        || mode.associated_tool_ids.contains(choice)
        || context.client_tools.iter().chain(&mode.client_tools).any(|tool| tool.name == *choice);
    faults.require(
        offered,
        at,
        format_args!(
            "{choice:?} is neither a client tool of this context nor a tool of its mode {:?}",
            mode.key.as_str()
        ),
    );
}

fn check_size(context: &impl Serialize, at: &str, faults: &mut FaultCollector) {
    let is_within_limit = serde_json::to_vec(context).is_ok_and(|json| json.len() <= MAX_CONTEXT_BYTES);
    faults.require(is_within_limit, at, format_args!("must have at most {MAX_CONTEXT_BYTES} bytes as JSON"));
}
