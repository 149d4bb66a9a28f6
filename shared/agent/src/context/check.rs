//! Checks that go beyond a context's JSON shape. They run whenever one is written.

use std::{fmt::Display, ops::RangeInclusive};

use serde::Serialize;

use super::{
    AgentContext, ConversationContext, Document, PromptLimits, guardrail_check, hosted_check,
    limits::{
        CONTEXT_CHUNKS, DIMENSIONS, MAX_COLLECTION_CHARS, MAX_CONTEXT_BYTES, MAX_MODEL_NAME_CHARS,
        MAX_NAME_CHARS, MAX_OUTPUT_TOKENS, MAX_ROUNDS, PROMPT_TOKENS, RETENTION_DAYS, TEMPERATURE,
        TOOL_DEADLINE_SECONDS, TOP_P,
    },
};
use crate::{
    fault::FaultCollector,
    mode::{
        Catalog, Mode,
        string_check::{check_deprecated, check_line, check_text},
    },
    model::{model_settings::TextFormat, price::Prices},
    tool::{self, AGENT_CHANGE_MODE, client_tool_check},
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
            let AgentContext { id: _, name, deprecated, default_conversation_context_id: _, client_tools } =
                context;
            check_line(name, MAX_NAME_CHARS, &format!("{at}.Name"), faults);
            check_deprecated(deprecated.as_deref(), at, faults);
            client_tool_check::check_context_tools(client_tools, server_tools, 0, at, faults);
        }
        Document::ConversationContext(context) => {
            check_conversation(context, catalog, server_tools, at, faults);
        }
        Document::Mode(mode) => catalog.check_mode(mode, server_tools, at, faults),
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
    check_line(&context.name, MAX_NAME_CHARS, &format!("{at}.Name"), faults);
    check_deprecated(context.deprecated.as_deref(), at, faults);
    // The size limit of the whole context bounds the prompt too.
    check_text(&context.system, MAX_CONTEXT_BYTES, &format!("{at}.System"), faults);
    if let Some(model) = &context.model_name {
        check_line(model, MAX_MODEL_NAME_CHARS, &format!("{at}.ModelName"), faults);
    }
    if let Some(temperature) = context.temperature {
        check_range(temperature, &TEMPERATURE, &format!("{at}.Temperature"), faults);
    }
    if let Some(top_p) = context.top_p {
        check_range(top_p, &TOP_P, &format!("{at}.TopP"), faults);
    }
    if let Some(format) = &context.text_format {
        check_text_format(format, &format!("{at}.TextFormat"), faults);
    }
    if let Some(tokens) = context.max_output_tokens {
        check_range(tokens, &MAX_OUTPUT_TOKENS, &format!("{at}.MaxOutputTokens"), faults);
    }
    if let Some(mode) = &context.default_mode {
        let offered = catalog.get(mode).is_some_and(Mode::is_offered);
        let what = format_args!("{mode:?} is not a mode that a session can start in");
        faults.require(offered, format!("{at}.DefaultMode"), what);
    }
    if let Some(collection) = &context.collection {
        check_collection(collection, &format!("{at}.Collection"), faults);
    }
    if let Some(model) = &context.embedding_model {
        check_line(model, MAX_MODEL_NAME_CHARS, &format!("{at}.EmbeddingModel"), faults);
    }
    if let Some(dimensions) = context.dimensions {
        check_range(dimensions, &DIMENSIONS, &format!("{at}.Dimensions"), faults);
    }
    check_range(
        context.tool_deadline_seconds,
        &TOOL_DEADLINE_SECONDS,
        &format!("{at}.ToolDeadlineSeconds"),
        faults,
    );
    if let Some(days) = context.retention_days {
        check_range(days, &RETENTION_DAYS, &format!("{at}.RetentionDays"), faults);
    }
    check_range(context.max_rounds, &MAX_ROUNDS, &format!("{at}.MaxRounds"), faults);
    check_prompt_limits(&context.prompt_limits, &format!("{at}.PromptLimits"), faults);
    faults.require(
        !context.history_summary || context.prompt_limits.history_tokens > 0,
        format!("{at}.HistorySummary"),
        "needs PromptLimits.HistoryTokens of more than 0: the summary is made from at most that many tokens",
    );
    if let Some(prices) = &context.prices {
        check_prices(prices, &format!("{at}.Prices"), faults);
    }
    hosted_check::check(&context.hosted_tools, at, faults);
    if let Some(guardrail) = &context.guardrail {
        guardrail_check::check(guardrail, at, faults);
    }
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

fn check_text_format(format: &TextFormat, at: &str, faults: &mut FaultCollector) {
    let TextFormat { name, description, schema, strict } = format;
    faults.require(tool::is_valid_name(name), format!("{at}.Name"), tool::DefinitionFault::InvalidName);
    if let Some(description) = description {
        check_text(
            description,
            client_tool_check::MAX_TOOL_DESCRIPTION_CHARS,
            &format!("{at}.Description"),
            faults,
        );
    }
    for fault in tool::schema_faults(schema, *strict) {
        faults.add(format!("{at}.Schema"), fault);
    }
}

fn check_collection(name: &str, at: &str, faults: &mut FaultCollector) {
    let is_valid = (1..=MAX_COLLECTION_CHARS).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
    faults.require(
        is_valid,
        at,
        format_args!("must have 1 to {MAX_COLLECTION_CHARS} characters, only letters, digits, _ - and ."),
    );
}

fn check_prompt_limits(limits: &PromptLimits, at: &str, faults: &mut FaultCollector) {
    let PromptLimits { history_tokens, file_tokens, total_file_tokens, context_tokens, context_chunks } =
        *limits;
    for (name, tokens) in [
        ("HistoryTokens", history_tokens),
        ("FileTokens", file_tokens),
        ("TotalFileTokens", total_file_tokens),
        ("ContextTokens", context_tokens),
    ] {
        check_range(tokens, &PROMPT_TOKENS, &format!("{at}.{name}"), faults);
    }
    check_range(context_chunks, &CONTEXT_CHUNKS, &format!("{at}.ContextChunks"), faults);
    faults.require(
        file_tokens <= total_file_tokens,
        format!("{at}.FileTokens"),
        "must not be more than TotalFileTokens",
    );
}

pub(super) fn check_prices(prices: &Prices, at: &str, faults: &mut FaultCollector) {
    let is_code = prices.currency.len() == 3 && prices.currency.bytes().all(|b| b.is_ascii_uppercase());
    faults.require(is_code, format!("{at}.Currency"), "must be an ISO 4217 code such as USD");
}

fn check_range<T: PartialOrd + Display>(
    value: T,
    range: &RangeInclusive<T>,
    at: &str,
    faults: &mut FaultCollector,
) {
    let (min, max) = (range.start(), range.end());
    faults.require(range.contains(&value), at, format_args!("must be from {min} to {max}, not {value}"));
}

fn check_size(context: &impl Serialize, at: &str, faults: &mut FaultCollector) {
    let is_within_limit = serde_json::to_vec(context).is_ok_and(|json| json.len() <= MAX_CONTEXT_BYTES);
    faults.require(is_within_limit, at, format_args!("must have at most {MAX_CONTEXT_BYTES} bytes as JSON"));
}
