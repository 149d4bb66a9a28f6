//! What has to hold for a context beyond its shape; checked whenever one is written.

use std::{fmt::Display, ops::RangeInclusive};

use serde::Serialize;

use super::{
    AgentContext, Budgets, ConversationContext, Document, Prices, hosted_check,
    limits::{
        BUDGET_TOKENS, CONTEXT_CHUNKS, DIMENSIONS, MAX_COLLECTION_CHARS, MAX_CONTEXT_BYTES,
        MAX_MODEL_NAME_CHARS, MAX_NAME_CHARS, MAX_OUTPUT_TOKENS, MAX_ROUNDS, RETENTION_DAYS, TEMPERATURE,
        TOOL_DEADLINE_SECONDS, TOP_P,
    },
};
use crate::{
    fault::Found,
    mode::{
        Catalog, Mode,
        wording::{line, passage},
    },
    settings::TextFormat,
    tool::{self, AGENT_CHANGE_MODE, declared},
};

/// Checks one context.
pub(super) fn document(
    document: &Document,
    catalog: &Catalog,
    server_tools: &[&str],
    at: &str,
    found: &mut Found,
) {
    match document {
        Document::AgentContext(context) => {
            let AgentContext { id: _, name, default_conversation_context_id: _, client_tools } = context;
            line(name, MAX_NAME_CHARS, &format!("{at}.Name"), found);
            declared::of_context(client_tools, server_tools, 0, at, found);
        }
        Document::ConversationContext(context) => {
            conversation(context, catalog, server_tools, at, found);
        }
    }
    size(document, at, found);
}

fn conversation(
    context: &ConversationContext,
    catalog: &Catalog,
    server_tools: &[&str],
    at: &str,
    found: &mut Found,
) {
    line(&context.name, MAX_NAME_CHARS, &format!("{at}.Name"), found);
    // The whole context's limit is the prompt's limit too.
    passage(&context.system, MAX_CONTEXT_BYTES, &format!("{at}.System"), found);
    if let Some(model) = &context.model_name {
        line(model, MAX_MODEL_NAME_CHARS, &format!("{at}.ModelName"), found);
    }
    if let Some(temperature) = context.temperature {
        within(temperature, &TEMPERATURE, &format!("{at}.Temperature"), found);
    }
    if let Some(share) = context.top_p {
        within(share, &TOP_P, &format!("{at}.TopP"), found);
    }
    if let Some(format) = &context.text_format {
        text_format(format, &format!("{at}.TextFormat"), found);
    }
    if let Some(tokens) = context.max_output_tokens {
        within(tokens, &MAX_OUTPUT_TOKENS, &format!("{at}.MaxOutputTokens"), found);
    }
    if let Some(mode) = &context.default_mode {
        let offered = catalog.get(mode).is_some_and(Mode::is_offered);
        let what = format_args!("{mode:?} is no mode that a session can start in");
        found.unless(offered, format!("{at}.DefaultMode"), what);
    }
    if let Some(collection) = &context.collection {
        self::collection(collection, &format!("{at}.Collection"), found);
    }
    if let Some(model) = &context.embedding_model {
        line(model, MAX_MODEL_NAME_CHARS, &format!("{at}.EmbeddingModel"), found);
    }
    if let Some(dimensions) = context.dimensions {
        within(dimensions, &DIMENSIONS, &format!("{at}.Dimensions"), found);
    }
    within(
        context.tool_deadline_seconds,
        &TOOL_DEADLINE_SECONDS,
        &format!("{at}.ToolDeadlineSeconds"),
        found,
    );
    if let Some(days) = context.retention_days {
        within(days, &RETENTION_DAYS, &format!("{at}.RetentionDays"), found);
    }
    within(context.max_rounds, &MAX_ROUNDS, &format!("{at}.MaxRounds"), found);
    budgets(&context.budgets, &format!("{at}.Budgets"), found);
    found.unless(
        !context.history_summary || context.budgets.history_tokens > 0,
        format!("{at}.HistorySummary"),
        "needs Budgets.HistoryTokens of more than 0: no more than that of the turns is read to sum them up",
    );
    if let Some(prices) = &context.prices {
        self::prices(prices, &format!("{at}.Prices"), found);
    }
    hosted_check::check(&context.hosted_tools, at, found);
    declared::of_context(&context.client_tools, server_tools, context.hosted_tools.len(), at, found);
    tool_choice(context, catalog, &format!("{at}.ToolChoiceName"), found);
}

/// A tool that only some agent contexts bring can't be forced: this context may meet another agent. Nor can
/// one that only other modes have: the session's first turns would be without it.
fn tool_choice(context: &ConversationContext, catalog: &Catalog, at: &str, found: &mut Found) {
    let Some(choice) = &context.tool_choice_name else { return };
    let mode = catalog.first_mode(context.default_mode.as_deref());
    let offered = choice == AGENT_CHANGE_MODE
        || mode.associated_tool_ids.contains(choice)
        || context.client_tools.iter().chain(&mode.client_tools).any(|tool| tool.name == *choice);
    found.unless(
        offered,
        at,
        format_args!(
            "{choice:?} is neither a client tool of this context nor a tool of its mode {:?}",
            mode.key
        ),
    );
}

fn text_format(format: &TextFormat, at: &str, found: &mut Found) {
    let TextFormat { name, description, schema, strict } = format;
    found.unless(tool::is_name(name), format!("{at}.Name"), tool::Why::Name);
    if let Some(description) = description {
        passage(description, declared::MAX_TOOL_DESCRIPTION_CHARS, &format!("{at}.Description"), found);
    }
    for why in tool::schema_faults(schema, *strict) {
        found.add(format!("{at}.Schema"), why);
    }
}

fn collection(name: &str, at: &str, found: &mut Found) {
    let fine = (1..=MAX_COLLECTION_CHARS).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
    found.unless(
        fine,
        at,
        format_args!("must have 1 to {MAX_COLLECTION_CHARS} characters, only letters, digits, _ - and ."),
    );
}

fn budgets(budgets: &Budgets, at: &str, found: &mut Found) {
    let Budgets { history_tokens, file_tokens, total_file_tokens, context_tokens, context_chunks } = *budgets;
    for (name, tokens) in [
        ("HistoryTokens", history_tokens),
        ("FileTokens", file_tokens),
        ("TotalFileTokens", total_file_tokens),
        ("ContextTokens", context_tokens),
    ] {
        within(tokens, &BUDGET_TOKENS, &format!("{at}.{name}"), found);
    }
    within(context_chunks, &CONTEXT_CHUNKS, &format!("{at}.ContextChunks"), found);
    found.unless(
        file_tokens <= total_file_tokens,
        format!("{at}.FileTokens"),
        "must not be more than TotalFileTokens",
    );
}

pub(super) fn prices(prices: &Prices, at: &str, found: &mut Found) {
    let code = prices.currency.len() == 3 && prices.currency.bytes().all(|b| b.is_ascii_uppercase());
    found.unless(code, format!("{at}.Currency"), "must be an ISO 4217 code such as USD");
}

fn within<T: PartialOrd + Display>(value: T, range: &RangeInclusive<T>, at: &str, found: &mut Found) {
    let (least, most) = (range.start(), range.end());
    found.unless(range.contains(&value), at, format_args!("must be from {least} to {most}, not {value}"));
}

fn size(context: &impl Serialize, at: &str, found: &mut Found) {
    let fits = serde_json::to_vec(context).is_ok_and(|json| json.len() <= MAX_CONTEXT_BYTES);
    found.unless(fits, at, format_args!("must have at most {MAX_CONTEXT_BYTES} bytes as JSON"));
}
