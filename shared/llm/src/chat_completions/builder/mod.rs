//! Builds the body of a model request.
//!
//! Pure. The whole conversation is sent with every request: a system message, the history, the outputs of each call as
//! `tool` messages, and one user message. A message that only brings tool results has no user message: Mistral's models,
//! among others, refuse one after a `tool` message. An update to the prompt then follows the last output.
//!
//! A replayed message is built as it was the first time, so that providers can cache the prompt.

use std::borrow::Cow;

use agent::model::model_settings::ModelSettings;
use agent::model::{Attachment, Chain, HistoryItem, Message, ReplyItem, Request};

use crate::chat_completions::request as wire;
use crate::prompt;

/// The name of the reasoning that carries the signature of a Google model's thoughts.
pub const THOUGHT_SIGNATURE: &str = "thought_signature";

/// The names under which servers return reasoning, and expect it back.
pub const REASONING_MEMBERS: [&str; 2] = ["reasoning_content", "reasoning"];

/// The published placeholder for a call that Google's model didn't write. Without a signature, it refuses the call.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Builds the body of a request.
pub fn build(request: &Request, send_identifiers: bool) -> wire::Request<'_> {
    let settings = &request.settings;
    let identifiers = request.identifiers.as_ref().filter(|_| send_identifiers);
    let renderer = Renderer { signs_calls: request.model.contains("gemini") };
    let mut messages = Vec::new();
    if let Chain::Initial { system, parts, history } = &request.chain {
        let system: Vec<&str> = prompt::system_parts(system, parts).filter(|part| !part.is_empty()).collect();
        if !system.is_empty() {
            messages.push(wire::Message::System { content: system.join("\n\n") });
        }
        history.iter().for_each(|item| renderer.push_history_item(&mut messages, item));
    }
    push_message(&mut messages, &request.message);
    wire::Request {
        model: &request.model,
        temperature: settings.temperature,
        top_p: settings.top_p,
        max_tokens: settings.max_output_tokens,
        reasoning_effort: settings.reasoning_effort,
        verbosity: settings.verbosity,
        stop: &settings.stop,
        response_format: response_format(settings),
        service_tier: settings.service_tier,
        // Refused without tools.
        parallel_tool_calls: settings.parallel_tool_calls.filter(|_| !request.tools.is_empty()),
        prompt_cache_key: identifiers.map(|ids| ids.session.as_str()),
        safety_identifier: identifiers.map(|ids| ids.user.as_str()),
        stream: true,
        stream_options: Some(wire::StreamOptions { include_usage: true }),
        tools: request.tools.iter().map(tool).collect(),
        messages,
        tool_choice: tool_choice(request),
    }
}

fn response_format(settings: &ModelSettings) -> Option<wire::ResponseFormat<'_>> {
    let schema = settings.text_format.as_ref().map(|format| wire::ResponseFormat::JsonSchema {
        json_schema: wire::JsonSchema {
            name: &format.name,
            description: format.description.as_deref(),
            schema: &format.schema,
            strict: format.strict,
        },
    });
    schema.or(settings.json_object.then_some(wire::ResponseFormat::JsonObject))
}

fn tool_choice(request: &Request) -> Option<wire::ToolChoice<'_>> {
    let required = request.settings.requires_tool.then_some(wire::ToolChoice::Required("required"));
    let function = |name| wire::FunctionChoice { function: wire::FunctionName { name } };
    request.tool_choice.as_deref().map(|name| wire::ToolChoice::Function(function(name))).or(required)
}

/// A renderer of earlier replies.
#[derive(Debug, Clone, Copy)]
struct Renderer {
    /// Set if the model refuses a step whose first call has no signature.
    signs_calls: bool,
}

impl Renderer {
    fn push_history_item<'a>(self, messages: &mut Vec<wire::Message<'a>>, item: &'a HistoryItem) {
        match item {
            HistoryItem::Message(message) => push_message(messages, message),
            HistoryItem::Reply(items) => {
                let assistant = self.assistant(items);
                if assistant.content.is_some() || !assistant.tool_calls.is_empty() {
                    messages.push(wire::Message::Assistant(assistant));
                }
            }
        }
    }

    /// Builds the message of an earlier reply. Calls of hosted tools belong to another wire.
    fn assistant(self, items: &[ReplyItem]) -> wire::Assistant<'_> {
        let mut assistant = wire::Assistant::default();
        let mut signature = None;
        for item in items {
            match item {
                ReplyItem::Text { text, .. } => {
                    assistant.content = Some(match assistant.content.take() {
                        None => Cow::Borrowed(text),
                        Some(earlier) => Cow::Owned(format!("{earlier}\n\n{text}")),
                    });
                }
                ReplyItem::Reasoning(reasoning) => match reasoning.id.as_str() {
                    THOUGHT_SIGNATURE => signature = Some(reasoning.encrypted.as_str()),
                    "reasoning" => assistant.reasoning = Some(&reasoning.encrypted),
                    "reasoning_content" => assistant.reasoning_content = Some(&reasoning.encrypted),
                    _ => {}
                },
                ReplyItem::Hosted(_) => {}
                ReplyItem::Call(call) => {
                    let needs_signature = self.signs_calls && assistant.tool_calls.is_empty();
                    let signature = signature.take().or(needs_signature.then_some(NO_SIGNATURE));
                    assistant.tool_calls.push(wire::Call {
                        id: &call.call_id,
                        function: wire::CalledFunction { name: &call.name, arguments: &call.arguments },
                        extra_content: signature.map(|thought_signature| wire::ExtraContent {
                            google: wire::GoogleContent { thought_signature },
                        }),
                    });
                }
            }
        }
        assistant
    }
}

/// Adds a message: the outputs of the previous calls, then the user message.
fn push_message<'a>(messages: &mut Vec<wire::Message<'a>>, message: &'a Message) {
    messages.extend(message.tool_outputs.iter().map(|output| wire::Message::Tool {
        tool_call_id: &output.call.call_id,
        content: prompt::output_text(&output.outcome),
    }));
    if !prompt::only_brings_results(message) {
        messages.push(wire::Message::User { content: user_content(message) });
        return;
    }
    if let (Some(update), Some(wire::Message::Tool { content, .. })) =
        (prompt::update_after_results(message), messages.last_mut())
    {
        *content = Cow::Owned(format!("{content}\n\n{update}"));
    }
}

/// Builds the content of a user message.
fn user_content(message: &Message) -> wire::Content<'_> {
    let leading: Vec<Cow<'_, str>> = prompt::leading_parts(message).collect();
    let leading = leading.join("\n\n");
    let update = prompt::update(message);
    if message.attachments.is_empty() {
        let texts: Vec<&str> = std::iter::once(leading.as_str()).chain(update).collect();
        return wire::Content::Text(texts.join("\n\n"));
    }
    let mut parts = vec![wire::Part::Text { text: Cow::Owned(leading) }];
    parts.extend(message.attachments.iter().map(attachment));
    parts.extend(update.map(|update| wire::Part::Text { text: Cow::Borrowed(update) }));
    wire::Content::Parts(parts)
}

fn attachment(attachment: &Attachment) -> wire::Part<'_> {
    match attachment {
        Attachment::Image { media_type, bytes } => {
            wire::Part::ImageUrl { image_url: wire::ImageUrl { url: prompt::data_url(media_type, bytes) } }
        }
        Attachment::File { name, media_type, bytes } => wire::Part::File {
            file: wire::File { filename: name, file_data: prompt::data_url(media_type, bytes) },
        },
    }
}

fn tool(tool: &agent::model::Tool) -> wire::Tool<'_> {
    wire::Tool {
        function: wire::Function {
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.parameters,
            strict: tool.strict,
        },
    }
}

#[cfg(test)]
mod tests;
