//! Lays out a model request: AGN-003's structure on the published wire.
//!
//! Pure. The input is, in this order: an output per answered function call, the system message of an
//! initial request, the earlier turns that it tells again, and one user message for this call. Its parts, in
//! this order: mode and instruction, context, active files, attachments, tool results, and what a chain has
//! to be told anew. Deliberately absent: what the parts say. The orchestrator decides on prompts, tools and the
//! chain; only the fixed sentences under `[INSTRUCTION]` live here.

use std::borrow::Cow;

use agent::model::{Chain, Exchange, Instruction, Request, Tool, ToolOutput};
use agent::settings::Settings;
use contracts::response::ToolOutcome;

use crate::wire::request as wire;
use tool_results::Values;

mod attachment;
pub mod tool_results;

/// Stands under `[INSTRUCTION]` when the user sent files or images alone (AGN-034 §4.1).
pub const FILES_ALONE: &str =
    "The user wrote no instruction. Work from the files and images that came with this message.";

/// Stands under `[INSTRUCTION]` when a turn goes on after tool calls.
pub const TOOL_RESULTS: &str =
    "Go on with the current turn from the tool results that came with this message.";

/// The body of the request (AGN-003 §3).
pub fn build(request: &Request) -> wire::Request<'_> {
    let (before, previous_response_id, update) = match &request.chain {
        Chain::Initial { system, parts, history } => {
            let told = history.iter().flat_map(exchange);
            (std::iter::once(system_message(system, parts)).chain(told).collect(), None, None)
        }
        Chain::Continues { previous_response_id, update } => {
            (Vec::new(), Some(previous_response_id.as_str()), update.as_deref())
        }
    };
    // Without the reply that called there is no call to answer: the text block alone tells the results.
    let answered = request.tool_outputs.iter().filter(|_| previous_response_id.is_some());
    let mut input: Vec<wire::Item<'_>> = answered.map(call_output).collect();
    input.extend(before.into_iter().map(wire::Item::Message));
    input.push(wire::Item::Message(user_message(request, update)));
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
        stream: true,
        previous_response_id,
        input,
        tools: request.tools.iter().map(tool).collect(),
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

/// An earlier turn; a side without words is left out.
fn exchange(exchange: &Exchange) -> impl Iterator<Item = wire::Message<'_>> {
    let instruction = stated(&exchange.instruction).map(|instruction| wire::Message {
        role: wire::Role::User,
        content: wire::Content::Parts(vec![text(instruction)]),
    });
    let answer = stated(&exchange.answer)
        .map(|answer| wire::Message { role: wire::Role::Assistant, content: wire::Content::Text(answer) });
    instruction.into_iter().chain(answer)
}

/// The one user message of this call (AGN-003 §5); what the chain has to be told anew comes last, so that
/// the order of AGN-003's own parts stays as it is.
fn user_message<'a>(request: &'a Request, update: Option<&'a str>) -> wire::Message<'a> {
    let mut content = vec![text(mode_and_instruction(request))];
    let blocks = [&request.context_block, &request.files_block];
    content.extend(blocks.into_iter().filter_map(|block| stated(block.as_deref()?)).map(text));
    content.extend(request.attachments.iter().map(attachment::part));
    let values = match request.chain {
        Chain::Initial { .. } => Values::Whole,
        Chain::Continues { .. } => Values::Short,
    };
    content.extend(tool_results::block(&request.tool_outputs, values).map(text));
    content.extend(update.and_then(stated).map(text));
    wire::Message { role: wire::Role::User, content: wire::Content::Parts(content) }
}

/// AGN-003 §5.1.
fn mode_and_instruction(request: &Request) -> String {
    let instruction = match &request.instruction {
        Instruction::User(words) => words,
        Instruction::FilesAlone => FILES_ALONE,
        Instruction::ToolResults => TOOL_RESULTS,
    };
    format!("[MODE: {}]\n\n[INSTRUCTION]\n{instruction}", request.mode)
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

fn tool(tool: &Tool) -> wire::Tool<'_> {
    wire::Tool {
        name: &tool.name,
        description: &tool.description,
        parameters: &tool.parameters,
        strict: tool.strict,
    }
}

fn stated(part: &str) -> Option<&str> {
    (!part.trim().is_empty()).then_some(part)
}

fn text<'a>(text: impl Into<Cow<'a, str>>) -> wire::Part<'a> {
    wire::Part::InputText { text: text.into() }
}

#[cfg(test)]
mod tests;
