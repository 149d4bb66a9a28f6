//! Builds the body of a model request.
//!
//! Pure. The messages are the history, then the results of the previous calls and the user's blocks in one message. As on
//! the wire `anthropic-messages`, a message that only brings tool results has no text unless the prompt changed, and cache
//! points stand at the end of the system prompt and of the last two user messages.
//!
//! The API is stricter than the others about a conversation: roles alternate, no two documents have one name, and only
//! some families of models accept cache points and the status of a result.

mod document_names;
mod reply;

use std::borrow::Cow;

use agent::model::model_settings::{Effort, ModelSettings, ServiceTier, TextFormat};
use agent::model::{Attachment, Chain, HistoryItem, Message, Request, ToolOutput};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use contracts::response::ToolOutcome;

use super::family::Family;
use crate::bedrock_converse::request as wire;
use crate::prompt;

use document_names::DocumentNames;

/// Builds the body of a request.
pub fn build(request: &Request, send_identifiers: bool) -> wire::Request<'_> {
    let settings = &request.settings;
    let identifiers = request.identifiers.as_ref().filter(|_| send_identifiers);
    let mut conversation = Conversation {
        family: Family::of(&request.model),
        system: Vec::new(),
        messages: Vec::new(),
        names: DocumentNames::default(),
    };
    if let Chain::Initial { system, parts, history } = &request.chain {
        conversation
            .system
            .extend(prompt::system_parts(system, parts).filter_map(prompt::non_blank).map(text));
        history.iter().for_each(|item| conversation.push_history_item(item));
    }
    conversation.system.extend(prompt::format_instruction(settings).map(text));
    conversation.push_user_message(&request.message);
    conversation.add_cache_points();
    let Conversation { family, system, messages, names: _ } = conversation;
    // Thinking can't be combined with a tool that must be called.
    let must_call = request.tool_choice.is_some() || settings.requires_tool;
    let effort = settings.reasoning_effort.filter(|_| !must_call);
    wire::Request {
        messages,
        system,
        inference_config: wire::InferenceConfig {
            max_tokens: settings.max_output_tokens,
            temperature: settings.temperature,
            top_p: settings.top_p,
            stop_sequences: &settings.stop,
        },
        tool_config: tool_config(request),
        guardrail_config: settings.guardrail.as_ref().map(|guardrail| wire::GuardrailConfig {
            guardrail_identifier: &guardrail.id,
            guardrail_version: &guardrail.version,
            stream_processing_mode: "sync",
        }),
        additional_model_request_fields: effort
            .and_then(|effort| family.reasoning(effort, settings.reasoning_summary.is_some())),
        request_metadata: identifiers
            .map(|ids| wire::RequestMetadata { session: &ids.session, user: &ids.user }),
        service_tier: settings.service_tier.and_then(service_tier),
        output_config: wire::OutputConfig {
            effort: effort.and_then(|effort| family.effort(effort)),
            text_format: settings.text_format.as_ref().filter(|format| format.strict).map(text_format),
        },
    }
}

/// Returns the names of the settings that the API has no member for. They are not sent.
pub fn omitted_settings(request: &Request) -> impl Iterator<Item = &'static str> {
    let ModelSettings {
        reasoning_effort,
        reasoning_summary,
        verbosity,
        service_tier,
        parallel_tool_calls,
        ..
    } = request.settings;
    let family = Family::of(&request.model);
    let has_no_effort = reasoning_effort.is_some() && family == Family::Other;
    // The other families show their reasoning unasked.
    let is_hidden = family == Family::Claude && reasoning_effort.is_none_or(|effort| effort == Effort::None);
    let omitted = [
        ("Verbosity", verbosity.is_some()),
        ("ReasoningEffort", has_no_effort),
        ("ReasoningSummary", reasoning_summary.is_some() && is_hidden),
        ("ServiceTier", service_tier == Some(ServiceTier::Scale)),
        ("ParallelToolCalls", parallel_tool_calls == Some(false)),
    ];
    omitted.into_iter().filter_map(|(name, is_omitted)| is_omitted.then_some(name))
}

fn service_tier(tier: ServiceTier) -> Option<wire::ServiceTier> {
    match tier {
        ServiceTier::Default => Some(wire::ServiceTier::Default),
        ServiceTier::Flex => Some(wire::ServiceTier::Flex),
        ServiceTier::Priority => Some(wire::ServiceTier::Priority),
        // `Auto` is what the API does without a tier.
        ServiceTier::Auto | ServiceTier::Scale => None,
    }
}

fn text_format(format: &TextFormat) -> wire::TextFormat<'_> {
    let TextFormat { name, description, schema, strict: _ } = format;
    let description = description.as_deref();
    wire::TextFormat {
        structure: wire::Structure::JsonSchema { schema: schema.to_string(), name, description },
    }
}

/// Builds the tools. The API refuses an empty list.
fn tool_config(request: &Request) -> Option<wire::ToolConfig<'_>> {
    let tools = request.tools.iter().map(|tool| {
        wire::Tool::ToolSpec(wire::ToolSpec {
            name: &tool.name,
            description: &tool.description,
            input_schema: wire::InputSchema::Json(&tool.parameters),
            strict: tool.strict,
        })
    });
    let required = request.settings.requires_tool.then_some(wire::ToolChoice::Any {});
    let tool_choice = request.tool_choice.as_deref().map(|name| wire::ToolChoice::Tool { name }).or(required);
    (!request.tools.is_empty()).then(|| wire::ToolConfig { tools: tools.collect(), tool_choice })
}

/// A conversation under construction.
struct Conversation<'a> {
    family: Family,
    system: Vec<wire::Content<'a>>,
    messages: Vec<wire::Message<'a>>,
    names: DocumentNames,
}

impl<'a> Conversation<'a> {
    fn push_history_item(&mut self, item: &'a HistoryItem) {
        match item {
            HistoryItem::Message(message) => self.push_user_message(message),
            HistoryItem::Reply(items) => self.push(wire::Role::Assistant, reply::blocks(items).collect()),
        }
    }

    /// Adds a user message: first the results of the previous calls.
    fn push_user_message(&mut self, message: &'a Message) {
        let mut content: Vec<wire::Content<'a>> =
            message.tool_outputs.iter().map(|output| self.tool_result(output)).collect();
        if prompt::only_brings_results(message) {
            content.extend(prompt::update_after_results(message).map(text));
        } else {
            content.extend(prompt::leading_parts(message).map(text));
            content.extend(message.attachments.iter().map(|attachment| self.attachment(attachment)));
            content.extend(prompt::update(message).map(text));
        }
        self.push(wire::Role::User, content);
    }

    /// Adds a message, or its content to the message before it if that has the same role. The API refuses an empty message,
    /// and two of one role in a row.
    fn push(&mut self, role: wire::Role, content: Vec<wire::Content<'a>>) {
        match self.messages.last_mut() {
            _ if content.is_empty() => {}
            Some(last) if last.role == role => last.content.extend(content),
            _ => self.messages.push(wire::Message { role, content }),
        }
    }

    fn tool_result(&self, output: &'a ToolOutput) -> wire::Content<'a> {
        let has_failed = matches!(output.outcome, ToolOutcome::ErrorMessage(_));
        wire::Content::ToolResult {
            tool_use_id: &output.call.call_id,
            content: [wire::ResultContent::Text(prompt::output_text(&output.outcome))],
            status: (has_failed && self.family.has_result_status()).then_some("error"),
        }
    }

    fn attachment(&mut self, attachment: &'a Attachment) -> wire::Content<'a> {
        let source = |bytes: &[u8]| wire::Source { bytes: STANDARD.encode(bytes) };
        match attachment {
            Attachment::Image { media_type, bytes } => {
                wire::Content::Image { format: format(media_type), source: source(bytes) }
            }
            Attachment::File { name, media_type, bytes } => wire::Content::Document {
                format: format(media_type),
                name: self.names.unique(name),
                source: source(bytes),
            },
        }
    }

    /// Adds the cache points, if the model accepts them. The API allows four.
    fn add_cache_points(&mut self) {
        if !self.family.has_cache_points() {
            return;
        }
        let users = self.messages.iter_mut().rev().filter(|message| message.role == wire::Role::User);
        for message in users.take(2) {
            message.content.push(wire::Content::CachePoint(wire::CachePoint::Default));
        }
        if !self.system.is_empty() {
            self.system.push(wire::Content::CachePoint(wire::CachePoint::Default));
        }
    }
}

/// Returns the format of a media type, such as `png` or `pdf`.
fn format(media_type: &str) -> &str {
    media_type.rsplit('/').next().unwrap_or(media_type)
}

fn text<'a>(text: impl Into<Cow<'a, str>>) -> wire::Content<'a> {
    wire::Content::Text(text.into())
}

#[cfg(test)]
mod tests;
