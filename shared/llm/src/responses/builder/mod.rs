//! Builds the body of a model request.
//!
//! Pure. The input starts with the system message and the history, unless the request continues a chain. Then follow the
//! output of each function call and one user message. The parts of the user message are, in order: mode and instruction,
//! context, omitted earlier turns, active files, attachments, tool results and updates.
//!
//! A replayed message is built as it was the first time, so each request of a conversation starts with the bytes of the
//! one before. This lets providers cache the prompt. The orchestrator decides on prompts, tools and the chain.

use std::borrow::Cow;

use agent::model::model_settings::ModelSettings;
use agent::model::{Chain, HistoryItem, Message, MessagePhase, ReplyItem, Request, Tool, ToolOutput};

use crate::prompt;
use crate::responses::request as wire;

mod attachment;
mod hosted;
pub mod tool_results;

/// The fewest tokens of a reply that the API accepts as a limit.
const MIN_OUTPUT_TOKENS: u32 = 16;

/// Builds the body of a request.
pub fn build(request: &Request) -> wire::Request<'_> {
    let mut input = Vec::new();
    let previous_response_id = match &request.chain {
        Chain::Initial { system, parts, history } => {
            input.push(wire::Item::Message(system_message(system, parts)));
            input.extend(history.iter().flat_map(history_items));
            None
        }
        Chain::Continues { previous_response_id } => Some(previous_response_id.as_str()),
    };
    input.extend(message_items(&request.message));
    let (settings, identifiers) = (&request.settings, request.identifiers.as_ref());
    wire::Request {
        model: &request.model,
        temperature: settings.temperature,
        top_p: settings.top_p,
        max_output_tokens: settings.max_output_tokens.map(|tokens| tokens.max(MIN_OUTPUT_TOKENS)),
        reasoning: reasoning(settings),
        text: text_config(settings),
        service_tier: settings.service_tier,
        parallel_tool_calls: settings.parallel_tool_calls,
        max_tool_calls: settings.max_tool_calls,
        prompt_cache_key: identifiers.map(|ids| ids.session.as_str()),
        safety_identifier: identifiers.map(|ids| ids.user.as_str()),
        store: (!request.store).then_some(false),
        include: request.wants_reasoning.then_some(["reasoning.encrypted_content"]),
        stream: true,
        tools: request.tools.iter().map(tool).chain(settings.hosted_tools.iter().map(hosted::tool)).collect(),
        previous_response_id,
        input,
        tool_choice: tool_choice(request),
    }
}

/// Builds the reasoning settings, if the context has any.
fn reasoning(settings: &ModelSettings) -> Option<wire::Reasoning> {
    let (effort, summary) = (settings.reasoning_effort, settings.reasoning_summary);
    (effort.is_some() || summary.is_some()).then_some(wire::Reasoning { effort, summary })
}

fn tool_choice(request: &Request) -> Option<wire::ToolChoice<'_>> {
    let required = request.settings.requires_tool.then_some(wire::ToolChoice::Required("required"));
    let named = request.tool_choice.as_deref();
    named.map(|name| wire::ToolChoice::Function(wire::FunctionName { name })).or(required)
}

/// Builds the text settings, if the context has any.
fn text_config(settings: &ModelSettings) -> Option<wire::Text<'_>> {
    let schema = settings.text_format.as_ref().map(|format| {
        wire::Format::JsonSchema(wire::SchemaFormat {
            name: &format.name,
            description: format.description.as_deref(),
            schema: &format.schema,
            strict: format.strict,
        })
    });
    let format = schema.or(settings.json_object.then_some(wire::Format::JsonObject));
    let config = wire::Text { format, verbosity: settings.verbosity };
    (config.format.is_some() || config.verbosity.is_some()).then_some(config)
}

/// Builds the system message.
fn system_message<'a>(system: &'a str, parts: &'a [String]) -> wire::Message<'a> {
    wire::Message {
        role: wire::Role::System,
        content: wire::Content::Parts(prompt::system_parts(system, parts).map(text).collect()),
        phase: None,
    }
}

/// Builds the input items of one history entry.
fn history_items(entry: &HistoryItem) -> Vec<wire::Item<'_>> {
    match entry {
        HistoryItem::Message(message) => message_items(message).collect(),
        HistoryItem::Reply(items) => items.iter().map(reply_item).collect(),
    }
}

fn reply_item(item: &ReplyItem) -> wire::Item<'_> {
    match item {
        ReplyItem::Text { text, phase } => wire::Item::Message(wire::Message {
            role: wire::Role::Assistant,
            content: wire::Content::Text(text),
            phase: phase.map(MessagePhase::name),
        }),
        ReplyItem::Reasoning(reasoning) => wire::Item::Reasoning(wire::ReasoningItem {
            id: &reasoning.id,
            summary: &reasoning.summary,
            encrypted_content: &reasoning.encrypted,
        }),
        ReplyItem::Hosted(call) => wire::Item::Hosted(&call.item),
        ReplyItem::Call(call) => wire::Item::Call(wire::Call {
            call_id: &call.call_id,
            name: &call.name,
            arguments: &call.arguments,
        }),
    }
}

/// Builds the input items of a message: the outputs of the previous calls, then the user message.
fn message_items(message: &Message) -> impl Iterator<Item = wire::Item<'_>> {
    let answers = message.tool_outputs.iter().map(call_output);
    answers.chain(std::iter::once(wire::Item::Message(user_message(message))))
}

/// Builds the user message. Updates come last, so that the order of the other parts doesn't change.
fn user_message(message: &Message) -> wire::Message<'_> {
    let mut content: Vec<wire::Part<'_>> = prompt::leading_parts(message).map(text).collect();
    content.extend(message.attachments.iter().map(attachment::part));
    content.extend(tool_results::block(&message.tool_outputs).map(text));
    content.extend(prompt::update(message).map(text));
    wire::Message { role: wire::Role::User, content: wire::Content::Parts(content), phase: None }
}

fn call_output(output: &ToolOutput) -> wire::Item<'_> {
    wire::Item::CallOutput(wire::CallOutput {
        call_id: &output.call.call_id,
        output: prompt::output_text(&output.outcome),
    })
}

fn tool(tool: &Tool) -> wire::ToolSpec<'_> {
    wire::ToolSpec::Function(wire::Tool {
        name: &tool.name,
        description: &tool.description,
        parameters: &tool.parameters,
        strict: tool.strict,
    })
}

fn text<'a>(text: impl Into<Cow<'a, str>>) -> wire::Part<'a> {
    wire::Part::InputText { text: text.into() }
}

#[cfg(test)]
mod tests;
