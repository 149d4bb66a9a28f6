//! Builds the body of a model request.
//!
//! Pure. The system prompt is a list of text blocks, and the messages are the history, then the results of the previous
//! calls and the user's blocks in one message. A message that only brings tool results has no text, unless the prompt
//! changed: Anthropic advises against text after results, because models then tend to end the turn.
//!
//! Cache points stand at the end of the system prompt, of the previous request's last message, and of this request's
//! last message. The next request finds the same prefix, since a replayed message is built as it was the first time.

mod reply;

use std::borrow::Cow;

use agent::model::model_settings::{Effort, ModelSettings, ServiceTier};
use agent::model::{Attachment, Chain, HistoryItem, Message, Request, ToolOutput};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use contracts::response::ToolOutcome;

use crate::anthropic_messages::request as wire;
use crate::block_reply::SUMMARIZED;
use crate::prompt;

/// The most tokens of a reply if the context sets no limit, which the API requires: no model in use allows fewer.
pub const DEFAULT_MAX_TOKENS: u32 = 32_000;

/// Builds the body of a request.
pub fn build(request: &Request, send_identifiers: bool) -> wire::Request<'_> {
    let settings = &request.settings;
    let identifiers = request.identifiers.as_ref().filter(|_| send_identifiers);
    let (mut system, mut messages) = (Vec::new(), Vec::new());
    if let Chain::Initial { system: base, parts, history } = &request.chain {
        system.extend(prompt::system_parts(base, parts).filter_map(prompt::non_blank).map(text));
        messages.extend(history.iter().filter_map(history_message));
    }
    system.extend(prompt::format_instruction(settings).map(text));
    messages.push(user_message(&request.message));
    add_cache_points(&mut system, &mut messages);
    let config = output_config(settings);
    let must_call = request.tool_choice.is_some() || settings.requires_tool;
    wire::Request {
        model: &request.model,
        max_tokens: settings.max_output_tokens.unwrap_or(DEFAULT_MAX_TOKENS),
        temperature: settings.temperature,
        top_p: settings.top_p,
        stop_sequences: &settings.stop,
        // Thinking can't be combined with a tool that must be called.
        thinking: thinking(settings).filter(|_| !must_call),
        output_config: (config != wire::OutputConfig::default()).then_some(config),
        service_tier: settings.service_tier.and_then(service_tier),
        metadata: identifiers.map(|ids| wire::Metadata { user_id: &ids.user }),
        stream: true,
        tools: request.tools.iter().map(tool).collect(),
        tool_choice: tool_choice(request),
        system,
        messages,
    }
}

/// Returns the names of the settings that the API has no member for. They are not sent.
pub fn omitted_settings(settings: &ModelSettings) -> impl Iterator<Item = &'static str> {
    let has_no_tier = settings.service_tier.is_some_and(|tier| service_tier(tier).is_none());
    let is_thinking = matches!(thinking(settings), Some(wire::Thinking::Adaptive { .. }));
    let omitted = [
        ("Verbosity", settings.verbosity.is_some()),
        ("ServiceTier", has_no_tier),
        ("ReasoningSummary", settings.reasoning_summary.is_some() && !is_thinking),
    ];
    omitted.into_iter().filter_map(|(name, is_omitted)| is_omitted.then_some(name))
}

fn thinking(settings: &ModelSettings) -> Option<wire::Thinking> {
    Some(match settings.reasoning_effort? {
        Effort::None => wire::Thinking::Disabled,
        Effort::Minimal | Effort::Low | Effort::Medium | Effort::High | Effort::Xhigh | Effort::Max => {
            wire::Thinking::Adaptive { display: settings.reasoning_summary.map(|_| SUMMARIZED) }
        }
    })
}

fn output_config(settings: &ModelSettings) -> wire::OutputConfig<'_> {
    let effort = settings.reasoning_effort.and_then(|effort| match effort {
        Effort::None => None,
        // The API has no lower effort.
        Effort::Minimal | Effort::Low => Some("low"),
        Effort::Medium => Some("medium"),
        Effort::High => Some("high"),
        Effort::Xhigh => Some("xhigh"),
        Effort::Max => Some("max"),
    });
    let format = settings.text_format.as_ref().filter(|format| format.strict);
    wire::OutputConfig { effort, format: format.map(|format| wire::Format { schema: &format.schema }) }
}

fn service_tier(tier: ServiceTier) -> Option<&'static str> {
    match tier {
        ServiceTier::Auto => Some("auto"),
        ServiceTier::Default => Some("standard_only"),
        ServiceTier::Flex | ServiceTier::Scale | ServiceTier::Priority => None,
    }
}

fn tool(tool: &agent::model::Tool) -> wire::Tool<'_> {
    wire::Tool {
        name: &tool.name,
        description: &tool.description,
        input_schema: &tool.parameters,
        strict: tool.strict,
    }
}

fn tool_choice(request: &Request) -> Option<wire::ToolChoice<'_>> {
    let one_at_a_time = request.settings.parallel_tool_calls == Some(false) && !request.tools.is_empty();
    match request.tool_choice.as_deref() {
        Some(name) => {
            Some(wire::ToolChoice::Tool { name, disable_parallel_tool_use: one_at_a_time.then_some(true) })
        }
        None if request.settings.requires_tool => {
            Some(wire::ToolChoice::Any { disable_parallel_tool_use: one_at_a_time.then_some(true) })
        }
        None => one_at_a_time.then_some(wire::ToolChoice::Auto { disable_parallel_tool_use: true }),
    }
}

/// Builds the message of one history entry. None for a reply without content, which the API refuses.
fn history_message(item: &HistoryItem) -> Option<wire::Message<'_>> {
    match item {
        HistoryItem::Message(message) => Some(user_message(message)),
        HistoryItem::Reply(items) => {
            let content = reply::blocks(items);
            (!content.is_empty()).then_some(wire::Message { role: wire::Role::Assistant, content })
        }
    }
}

/// Builds the user message: first the results of the previous calls, as the API requires.
fn user_message(message: &Message) -> wire::Message<'_> {
    let mut content: Vec<wire::Block<'_>> = message.tool_outputs.iter().map(tool_result).collect();
    if prompt::only_brings_results(message) {
        content.extend(prompt::update_after_results(message).map(text));
    } else {
        content.extend(prompt::leading_parts(message).map(text));
        content.extend(message.attachments.iter().map(attachment));
        content.extend(prompt::update(message).map(text));
    }
    wire::Message { role: wire::Role::User, content }
}

fn tool_result(output: &ToolOutput) -> wire::Block<'_> {
    let (content, is_error) = match &output.outcome {
        ToolOutcome::ResultJson(json) => (json.as_str(), false),
        ToolOutcome::ErrorMessage(message) => (message.as_str(), true),
    };
    wire::Content::ToolResult { tool_use_id: &output.call.call_id, content, is_error }.into()
}

fn attachment(attachment: &Attachment) -> wire::Block<'_> {
    match attachment {
        Attachment::Image { media_type, bytes } => {
            wire::Content::Image { source: source(media_type, bytes) }.into()
        }
        Attachment::File { name, media_type, bytes } => {
            wire::Content::Document { source: source(media_type, bytes), title: name }.into()
        }
    }
}

fn source<'a>(media_type: &'a str, bytes: &[u8]) -> wire::Source<'a> {
    wire::Source { media_type, data: STANDARD.encode(bytes) }
}

/// Adds the cache points. The API allows four.
fn add_cache_points<'a>(system: &mut [wire::Block<'a>], messages: &mut [wire::Message<'a>]) {
    let users = messages.iter_mut().rev().filter(|message| message.role == wire::Role::User);
    let ends = users.take(2).filter_map(|message| message.content.last_mut());
    for block in ends.chain(system.last_mut()) {
        block.cache_control = Some(wire::CacheControl::Ephemeral);
    }
}

fn text<'a>(text: impl Into<Cow<'a, str>>) -> wire::Block<'a> {
    wire::Content::Text { text: text.into() }.into()
}

#[cfg(test)]
mod tests;
