//! Builds the body of a model request.
//!
//! Pure. The input starts with the system message and the history, unless the request continues a chain. Then follow the
//! output of each function call and one user message. The parts of the user message are, in order: mode and instruction,
//! context, omitted earlier turns, active files, attachments, tool results and updates.
//!
//! A replayed message is built as it was the first time, so each request of a conversation starts with the bytes of the
//! one before. This lets providers cache the prompt. The orchestrator decides on prompts, tools and the chain.

use std::borrow::Cow;

use agent::model::freeform::{self, FreeformTools};
use agent::model::hosted_tools::HostedTool;
use agent::model::model_settings::ModelSettings;
use agent::model::{Chain, HistoryItem, Message, MessagePhase, ReplyItem, Request, Tool, ToolOutput};

use crate::prompt;
use crate::responses::request as wire;

mod attachment;
mod hosted;
pub mod tool_results;

/// The fewest tokens of a reply that the API accepts as a limit.
const MIN_OUTPUT_TOKENS: u32 = 16;

/// The types of tools besides functions that clients may bring to the provider.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolTypes {
    /// True if freeform tools keep their form. Elsewhere they are functions.
    pub has_freeform: bool,
    /// True if the provider searches the web for clients.
    pub searches_web: bool,
}

/// No tool.
const NO_FREEFORM: &FreeformTools = &FreeformTools::new();

/// Builds the body of a request.
pub fn build(request: &Request, tool_types: ToolTypes) -> wire::Request<'_> {
    let own_freeform = &request.settings.freeform_tools;
    let freeform = if tool_types.has_freeform { own_freeform } else { NO_FREEFORM };
    let mut input = Vec::new();
    let previous_response_id = match &request.chain {
        Chain::Initial { system, parts, history } => {
            input.push(wire::Item::Message(system_message(system, parts)));
            input.extend(history.iter().flat_map(|entry| history_items(entry, freeform)));
            None
        }
        Chain::Continues { previous_response_id } => Some(previous_response_id.as_str()),
    };
    input.extend(message_items(&request.message, freeform));
    let (settings, identifiers) = (&request.settings, request.identifiers.as_ref());
    let hosted = settings.hosted_tools.iter().map(hosted::tool);
    // The agent's own web search precedes the client's.
    let searches = |tool: &HostedTool| matches!(tool, HostedTool::WebSearch(_));
    let may_search = tool_types.searches_web && !settings.hosted_tools.iter().any(searches);
    let web_search = settings.web_search.iter().filter(|_| may_search).map(wire::ToolSpec::Client);
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
        tools: request.tools.iter().map(|own| tool(own, freeform)).chain(hosted).chain(web_search).collect(),
        previous_response_id,
        input,
        tool_choice: tool_choice(request, freeform),
    }
}

/// Builds the reasoning settings, if the context has any.
fn reasoning(settings: &ModelSettings) -> Option<wire::Reasoning> {
    let (effort, summary) = (settings.reasoning_effort, settings.reasoning_summary);
    (effort.is_some() || summary.is_some()).then_some(wire::Reasoning { effort, summary })
}

fn tool_choice<'a>(request: &'a Request, freeform: &FreeformTools) -> Option<wire::ToolChoice<'a>> {
    let required = request.settings.requires_tool.then_some(wire::ToolChoice::Required("required"));
    let named = request.tool_choice.as_deref().map(|name| match freeform.contains_key(name) {
        true => wire::ToolChoice::Named(wire::ToolName::Custom { name }),
        false => wire::ToolChoice::Named(wire::ToolName::Function { name }),
    });
    named.or(required)
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
fn history_items<'a>(entry: &'a HistoryItem, freeform: &FreeformTools) -> Vec<wire::Item<'a>> {
    match entry {
        HistoryItem::Message(message) => message_items(message, freeform).collect(),
        HistoryItem::Reply(items) => items.iter().map(|item| reply_item(item, freeform)).collect(),
    }
}

fn reply_item<'a>(item: &'a ReplyItem, freeform: &FreeformTools) -> wire::Item<'a> {
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
        ReplyItem::Call(call) if freeform.contains_key(&call.name) => wire::Item::Call(wire::Call::Custom {
            call_id: &call.call_id,
            name: &call.name,
            input: freeform::input(&call.arguments),
        }),
        ReplyItem::Call(call) => wire::Item::Call(wire::Call::Function {
            call_id: &call.call_id,
            name: &call.name,
            arguments: &call.arguments,
        }),
    }
}

/// Builds the input items of a message: the outputs of the previous calls, then the user message.
fn message_items<'a>(message: &'a Message, freeform: &FreeformTools) -> impl Iterator<Item = wire::Item<'a>> {
    let answers = message.tool_outputs.iter().map(|output| call_output(output, freeform));
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

fn call_output<'a>(output: &'a ToolOutput, freeform: &FreeformTools) -> wire::Item<'a> {
    let (call_id, text) = (output.call.call_id.as_str(), prompt::output_text(&output.outcome));
    wire::Item::CallOutput(match freeform.contains_key(&output.call.name) {
        true => wire::CallOutput::Custom { call_id, output: text },
        false => wire::CallOutput::Function { call_id, output: text },
    })
}

fn tool<'a>(tool: &'a Tool, freeform: &'a FreeformTools) -> wire::ToolSpec<'a> {
    if let Some(format) = freeform.get(&tool.name) {
        return wire::ToolSpec::Own(wire::Tool::Custom {
            name: &tool.name,
            description: &tool.description,
            format,
        });
    }
    wire::ToolSpec::Own(wire::Tool::Function {
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
