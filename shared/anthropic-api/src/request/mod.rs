//! Requests for messages: every member is read, accepted as a hint, or refused by name.

mod blocks;
mod messages;
mod settings;
#[cfg(test)]
mod tests;
mod thread;

use histories::{Chat, ChatMessage, Hint};
use serde_json::Value;

use crate::error::ApiError;
pub use thread::Thread;

type Members<'a> = fronts::Members<'a, ApiError>;

/// The prefix of a `model` that names an agent.
pub const AGENT: &str = "agent/";

/// The effect of a member of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// The service does what it says.
    Honoured,
    /// Accepted without an effect: it asks for nothing that a client relies on.
    Hint,
    /// Refused, since a client relies on it.
    Refused,
}

/// The members of a request that Anthropic's API documents, with their effects.
const MEMBERS: &[(&str, Effect)] = &[
    ("billing_policy", Effect::Refused),
    ("cache_control", Effect::Hint),
    ("compaction", Effect::Refused),
    ("container", Effect::Refused),
    ("context_management", Effect::Honoured),
    ("diagnostics", Effect::Hint),
    ("fallback_credit_token", Effect::Refused),
    ("fallbacks", Effect::Refused),
    ("inference_geo", Effect::Refused),
    ("max_tokens", Effect::Honoured),
    ("mcp_servers", Effect::Honoured),
    ("messages", Effect::Honoured),
    ("metadata", Effect::Honoured),
    ("model", Effect::Honoured),
    ("output_config", Effect::Honoured),
    ("service_tier", Effect::Hint),
    ("speed", Effect::Hint),
    ("stop_sequences", Effect::Honoured),
    ("stream", Effect::Honoured),
    ("system", Effect::Honoured),
    ("temperature", Effect::Honoured),
    ("thinking", Effect::Honoured),
    ("thread", Effect::Honoured),
    ("tool_choice", Effect::Honoured),
    ("tools", Effect::Honoured),
    ("top_k", Effect::Hint),
    ("top_p", Effect::Honoured),
];

/// A request for a message.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateMessage {
    /// The request as one that brings its history.
    pub chat: Chat,
    /// The model as the request names it.
    pub model: String,
    /// The texts that end the answer.
    pub stops: Vec<String>,
    /// True if the client wants to see the model's reasoning.
    pub shows_thinking: bool,
    /// The thread that the request creates or continues.
    pub thread: Option<Thread>,
}

impl CreateMessage {
    /// Parses a body.
    ///
    /// # Errors
    /// Returns the first member that is invalid, unknown or not supported.
    pub fn parse(body: &[u8]) -> Result<Self, ApiError> {
        let value = json_body(body)?;
        let members = Members::read(&value, "")?;
        check_names(&members)?;
        if members.count("max_tokens")?.is_none() {
            return Err(members.rule("max_tokens", "Field required"));
        }
        let thread = Thread::read(&members)?;
        let (model, chat) = chat(&members)?;
        let shows_thinking = chat.options.reasoning_summary.is_some();
        Ok(Self { chat, model, stops: settings::stops(&members)?, shows_thinking, thread })
    }

    /// Returns the `model` that is a model's name or an agent's. `None` if it has a slash.
    #[must_use]
    pub fn ambiguous_model(&self) -> Option<&str> {
        Some(self.model.as_str()).filter(|model| !model.contains('/'))
    }

    /// Takes the name of the model for an agent's.
    #[must_use]
    pub fn with_agent(mut self) -> Self {
        self.chat.agent = Some(self.model.clone());
        self.chat.options.model = None;
        self
    }

    /// Parses the body of a request that counts tokens, which needs no `max_tokens`.
    ///
    /// # Errors
    /// Returns the first member that is invalid, unknown or not supported.
    pub fn parse_count(body: &[u8]) -> Result<Chat, ApiError> {
        let value = json_body(body)?;
        let members = Members::read(&value, "")?;
        check_names(&members)?;
        chat(&members).map(|(_, chat)| chat)
    }
}

fn json_body(body: &[u8]) -> Result<Value, ApiError> {
    serde_json::from_slice(body).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        ApiError::invalid(format!("The request body is not valid JSON (line {line}, column {column})"))
    })
}

fn check_names(members: &Members<'_>) -> Result<(), ApiError> {
    let effect = |name: &str| MEMBERS.iter().find(|(known, _)| *known == name).map(|(_, effect)| *effect);
    let refused = members.names().find(|name| effect(name).is_none_or(|effect| effect == Effect::Refused));
    refused.map_or(Ok(()), |name| Err(ApiError::not_permitted(name)))
}

/// Reads the request as one that brings its history, and the name of its model.
fn chat(members: &Members<'_>) -> Result<(String, Chat), ApiError> {
    let model = members.required_text("model")?.to_owned();
    let read = messages::read(members)?;
    let agent = model.strip_prefix(AGENT).map(str::to_owned);
    let options = settings::read(members, agent.is_none().then_some(model.as_str()))?;
    let chat = Chat {
        agent,
        instructions: read.instructions,
        options,
        is_streamed: members.flag("stream")?.unwrap_or_default(),
        is_retry: false,
        hints: hints(&read.messages),
        name: None,
        messages: read.messages,
    };
    Ok((model, chat))
}

/// Returns the turns that the ids of calls name.
fn hints(messages: &[ChatMessage]) -> Vec<Hint> {
    let named = messages.iter().enumerate().filter_map(|(message, read)| match read {
        ChatMessage::Call(call) => {
            Some(Hint { message, turn: crate::id::turn_of_call(&call.id)?, is_certain: false })
        }
        _ => None,
    });
    named.collect()
}
