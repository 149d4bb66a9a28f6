//! Lays out a model request: AGN-003's structure on the published wire.
//!
//! Pure. The input is, in this order: the system message of an initial request and the conversation so far,
//! message by message and reply by reply; then what this call says, which is an output per answered function
//! call and one user message. Its parts, in this order: mode and instruction, earlier turns that are left out, context, active files,
//! attachments, tool results, and what the model has to be told anew. A message that is told again is laid out
//! as it was the first time, so a conversation's next request begins with the one before. Deliberately absent: what the parts say. The orchestrator decides on prompts, tools and the
//! chain; only the fixed sentences under `[INSTRUCTION]` live here.

use std::borrow::Cow;

use agent::model::{Chain, Instruction, Item, Message, Request, Told, Tool, ToolOutput};
use agent::settings::Settings;
use contracts::response::ToolOutcome;

use crate::wire::request as wire;

mod attachment;
mod hosted;
pub mod tool_results;

/// Stands under `[INSTRUCTION]` when the user sent files or images alone (AGN-034 §4.1).
pub const FILES_ALONE: &str =
    "The user wrote no instruction. Work from the files and images that came with this message.";

/// Stands under `[INSTRUCTION]` when a turn goes on after tool calls.
pub const TOOL_RESULTS: &str =
    "Go on with the current turn from the tool results that came with this message.";

/// The body of the request (AGN-003 §3).
pub fn build(request: &Request) -> wire::Request<'_> {
    let mut input = Vec::new();
    let previous_response_id = match &request.chain {
        Chain::Initial { system, parts, told } => {
            input.push(wire::Item::Message(system_message(system, parts)));
            input.extend(told.iter().flat_map(again));
            None
        }
        Chain::Continues { previous_response_id } => Some(previous_response_id.as_str()),
    };
    input.extend(said(&request.message));
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
        include: request.reasoning_wanted.then_some(["reasoning.encrypted_content"]),
        stream: true,
        tools: request.tools.iter().map(tool).chain(settings.hosted_tools.iter().map(hosted::tool)).collect(),
        previous_response_id,
        input,
        tool_choice: request.tool_choice.as_deref().map(|name| wire::ToolChoice { name }),
    }
}

/// What the text of the reply has to be like, where the context says so.
fn text_config(settings: &Settings) -> Option<wire::Text<'_>> {
    let format = settings.text_format.as_ref().map(|format| wire::Format {
        name: &format.name,
        description: format.description.as_deref(),
        schema: &format.schema,
        strict: format.strict,
    });
    let config = wire::Text { format, verbosity: settings.verbosity };
    (config.format.is_some() || config.verbosity.is_some()).then_some(config)
}

/// The base prompt always, then what else there is (AGN-003 §4).
fn system_message<'a>(system: &'a str, parts: &'a [String]) -> wire::Message<'a> {
    let rest = parts.iter().filter_map(|part| stated(part));
    wire::Message {
        role: wire::Role::System,
        content: wire::Content::Parts(std::iter::once(system).chain(rest).map(text).collect()),
    }
}

/// What was said before, in the words it was said in.
fn again(told: &Told) -> Vec<wire::Item<'_>> {
    match told {
        Told::Said(message) => said(message).collect(),
        Told::Replied(items) => items.iter().map(replied).collect(),
    }
}

fn replied(item: &Item) -> wire::Item<'_> {
    match item {
        Item::Text(text) => wire::Item::Message(wire::Message {
            role: wire::Role::Assistant,
            content: wire::Content::Text(text),
        }),
        Item::Reasoning(reasoning) => wire::Item::Reasoned(wire::Reasoned {
            id: &reasoning.id,
            summary: &reasoning.summary,
            encrypted_content: &reasoning.encrypted,
        }),
        Item::Hosted(call) => wire::Item::Hosted(&call.item),
        Item::Call(call) => wire::Item::Call(wire::Call {
            call_id: &call.call_id,
            name: &call.name,
            arguments: &call.arguments,
        }),
    }
}

/// What one call says: an answer to each call of the reply before, then the user message.
fn said(message: &Message) -> impl Iterator<Item = wire::Item<'_>> {
    let answers = message.tool_outputs.iter().map(call_output);
    answers.chain(std::iter::once(wire::Item::Message(user_message(message))))
}

/// The one user message of a call (AGN-003 §5); what the model has to be told anew comes last, so that
/// the order of AGN-003's own parts stays as it is.
fn user_message(message: &Message) -> wire::Message<'_> {
    let mut content = vec![text(mode_and_instruction(message))];
    let blocks = [&message.earlier_block, &message.context_block, &message.files_block];
    content.extend(blocks.into_iter().filter_map(|block| stated(block.as_deref()?)).map(text));
    content.extend(message.attachments.iter().map(attachment::part));
    content.extend(tool_results::block(&message.tool_outputs).map(text));
    content.extend(message.update.as_deref().and_then(stated).map(text));
    wire::Message { role: wire::Role::User, content: wire::Content::Parts(content) }
}

/// AGN-003 §5.1.
fn mode_and_instruction(message: &Message) -> String {
    let instruction = match &message.instruction {
        Instruction::User(words) => words,
        Instruction::FilesAlone => FILES_ALONE,
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

fn tool(tool: &Tool) -> wire::Offered<'_> {
    wire::Offered::Function(wire::Tool {
        name: &tool.name,
        description: &tool.description,
        parameters: &tool.parameters,
        strict: tool.strict,
    })
}

fn stated(part: &str) -> Option<&str> {
    (!part.trim().is_empty()).then_some(part)
}

fn text<'a>(text: impl Into<Cow<'a, str>>) -> wire::Part<'a> {
    wire::Part::InputText { text: text.into() }
}

#[cfg(test)]
mod tests;
