//! Builds the body of a model request.
//!
//! Pure. The input starts with the system message and the history, unless the request continues a chain. Then follow the
//! output of each function call and one user message. The parts of the user message are, in order: mode and instruction,
//! context, omitted earlier turns, active files, attachments, tool results and updates.
//!
//! A replayed message is built as it was the first time, so each request of a conversation starts with the bytes of the
//! one before. This lets providers cache the prompt. The orchestrator decides on prompts, tools and the chain; only the
//! fixed sentences under `[INSTRUCTION]` are defined here.

use std::borrow::Cow;

use agent::model::model_settings::ModelSettings;
use agent::model::{Chain, HistoryItem, Instruction, Message, ReplyItem, Request, Tool, ToolOutput};
use contracts::response::ToolOutcome;

use crate::wire::request as wire;

mod attachment;
mod hosted;
pub mod tool_results;

/// The text under `[INSTRUCTION]` if the user sent only files or images.
pub const FILES_ONLY: &str =
    "The user wrote no instruction. Work from the files and images that came with this message.";

/// The text under `[INSTRUCTION]` if a turn continues after tool calls.
pub const TOOL_RESULTS: &str =
    "Go on with the current turn from the tool results that came with this message.";

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
        max_output_tokens: settings.max_output_tokens,
        reasoning: settings.reasoning_effort.map(|effort| wire::Reasoning { effort }),
        text: text_config(settings),
        service_tier: settings.service_tier,
        parallel_tool_calls: settings.parallel_tool_calls,
        prompt_cache_key: identifiers.map(|ids| ids.session.as_str()),
        safety_identifier: identifiers.map(|ids| ids.user.as_str()),
        store: (!request.store).then_some(false),
        include: request.wants_reasoning.then_some(["reasoning.encrypted_content"]),
        stream: true,
        tools: request.tools.iter().map(tool).chain(settings.hosted_tools.iter().map(hosted::tool)).collect(),
        previous_response_id,
        input,
        tool_choice: request.tool_choice.as_deref().map(|name| wire::ToolChoice { name }),
    }
}

/// Builds the text settings, if the context has any.
fn text_config(settings: &ModelSettings) -> Option<wire::Text<'_>> {
    let format = settings.text_format.as_ref().map(|format| wire::Format {
        name: &format.name,
        description: format.description.as_deref(),
        schema: &format.schema,
        strict: format.strict,
    });
    let config = wire::Text { format, verbosity: settings.verbosity };
    (config.format.is_some() || config.verbosity.is_some()).then_some(config)
}

/// Builds the system message: the base prompt, which may be empty, and the non-blank parts.
fn system_message<'a>(system: &'a str, parts: &'a [String]) -> wire::Message<'a> {
    let rest = parts.iter().filter_map(|part| non_blank(part));
    wire::Message {
        role: wire::Role::System,
        content: wire::Content::Parts(std::iter::once(system).chain(rest).map(text).collect()),
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
        ReplyItem::Text(text) => wire::Item::Message(wire::Message {
            role: wire::Role::Assistant,
            content: wire::Content::Text(text),
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
    let mut content = vec![text(mode_and_instruction(message))];
    let blocks = [&message.context_block, &message.earlier_turns_block, &message.files_block];
    content.extend(blocks.into_iter().filter_map(|block| non_blank(block.as_deref()?)).map(text));
    content.extend(message.attachments.iter().map(attachment::part));
    content.extend(tool_results::block(&message.tool_outputs).map(text));
    content.extend(message.update.as_deref().and_then(non_blank).map(text));
    wire::Message { role: wire::Role::User, content: wire::Content::Parts(content) }
}

/// Builds the first part: the mode and the instruction.
fn mode_and_instruction(message: &Message) -> String {
    let instruction = match &message.instruction {
        Instruction::User(words) => words,
        Instruction::FilesAlone => FILES_ONLY,
        Instruction::ToolResults => TOOL_RESULTS,
    };
    format!("[MODE: {}]\n\n[INSTRUCTION]\n{instruction}", message.mode)
}

fn call_output(output: &ToolOutput) -> wire::Item<'_> {
    wire::Item::CallOutput(wire::CallOutput {
        call_id: &output.call.call_id,
        output: match &output.outcome {
            ToolOutcome::ResultJson(json) => Cow::Borrowed(json),
            ToolOutcome::ErrorMessage(message) => {
                Cow::Owned(serde_json::json!({ "ErrorMessage": message }).to_string())
            }
        },
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

fn non_blank(part: &str) -> Option<&str> {
    (!part.trim().is_empty()).then_some(part)
}

fn text<'a>(text: impl Into<Cow<'a, str>>) -> wire::Part<'a> {
    wire::Part::InputText { text: text.into() }
}

#[cfg(test)]
mod tests;
