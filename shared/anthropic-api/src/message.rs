//! Messages: a turn's outcome as a `message` object.

use contracts::{ErrorCode, Usage, response::ToolCall};
use fronts::{Outcome, Status};
use histories::TurnRound;
use serde_json::{Map, Value, json};

use crate::{error::ApiError, id, stops};

/// The members of a message besides its outcome.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The turn.
    pub turn: TurnRound,
    /// The model as the request names it.
    pub model: String,
    /// The texts that end the answer.
    pub stops: Vec<String>,
    /// True if a stream shows the model's reasoning.
    pub shows_thinking: bool,
}

/// The reason why a message ends.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stop {
    /// The value of `stop_reason`.
    pub(crate) reason: &'static str,
    /// The stop sequence.
    pub(crate) sequence: Option<String>,
}

impl Frame {
    /// Returns the message before its first block.
    #[must_use]
    pub(crate) fn begun(&self) -> Value {
        self.object(&[], None, Usage::default())
    }

    /// Returns the message with its outcome.
    ///
    /// # Errors
    /// If the turn failed or was cancelled: there is no such message.
    pub fn with_outcome(&self, outcome: &Outcome) -> Result<Value, ApiError> {
        let (text, calls) = match outcome {
            Outcome::Answer { text, .. } => (text, [].as_slice()),
            Outcome::Calls { text, calls } => (text, calls.as_slice()),
            Outcome::Failed { error, .. } if !is_message(outcome) => return Err(error.clone().into()),
            Outcome::Failed { text, .. } => (text, [].as_slice()),
        };
        let visible = text.get(..stops::cut(text, &self.stops).end).unwrap_or(text);
        let mut content = Vec::new();
        if !visible.is_empty() {
            content.push(json!({"type": "text", "text": visible, "citations": null}));
        }
        let calls = calls.iter().enumerate();
        content.extend(calls.map(|(n, call)| self.call(n, call, input(call))));
        Ok(self.object(&content, Some(&self.stop(outcome)), usage_of(outcome)))
    }

    /// Returns the reason why a message with this outcome ends.
    pub(crate) fn stop(&self, outcome: &Outcome) -> Stop {
        let reason = |reason| Stop { reason, sequence: None };
        match outcome {
            Outcome::Answer { text, is_truncated, .. } => match stops::cut(text, &self.stops).stop {
                Some(stop) => Stop { reason: "stop_sequence", sequence: Some(stop.to_owned()) },
                None if *is_truncated => reason("max_tokens"),
                None => reason("end_turn"),
            },
            Outcome::Calls { .. } => reason("tool_use"),
            Outcome::Failed { error, .. } if error.error_code == ErrorCode::ModelContentFiltered => {
                reason("refusal")
            }
            Outcome::Failed { .. } => reason("max_tokens"),
        }
    }

    /// Returns the block of a call.
    pub(crate) fn call(&self, position: usize, call: &ToolCall, input: Value) -> Value {
        let id = id::call(&self.turn, position);
        json!({"type": "tool_use", "id": id, "name": call.name, "input": input, "caller": {"type": "direct"}})
    }

    fn object(&self, content: &[Value], stop: Option<&Stop>, tokens: Usage) -> Value {
        json!({
            "id": id::message(&self.turn),
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": stop.map(|stop| stop.reason),
            "stop_sequence": stop.and_then(|stop| stop.sequence.as_deref()),
            "stop_details": stop_details(stop),
            "container": null,
            "usage": usage(tokens),
        })
    }
}

/// True if a turn with this outcome is a message. Others are errors.
pub(crate) fn is_message(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Failed { error, .. } => {
            outcome.status() == Status::Incomplete || error.error_code == ErrorCode::ModelContentFiltered
        }
        Outcome::Answer { .. } | Outcome::Calls { .. } => true,
    }
}

/// Returns the arguments of a call, which are an object.
pub(crate) fn input(call: &ToolCall) -> Value {
    let arguments: Map<String, Value> = serde_json::from_str(&call.arguments_json).unwrap_or_default();
    Value::Object(arguments)
}

/// Returns the details of a refusal.
pub(crate) fn stop_details(stop: Option<&Stop>) -> Value {
    match stop {
        Some(stop) if stop.reason == "refusal" => {
            json!({"type": "refusal", "category": null, "explanation": null})
        }
        _ => Value::Null,
    }
}

/// Returns the usage that a message shows. A turn's usage counts in its last message.
pub(crate) fn usage_of(outcome: &Outcome) -> Usage {
    match outcome {
        Outcome::Answer { usage, .. } => usage.unwrap_or_default(),
        Outcome::Calls { .. } | Outcome::Failed { .. } => Usage::default(),
    }
}

/// Returns a usage. The input tokens of the caches don't count as `input_tokens`.
pub(crate) fn usage(usage: Usage) -> Value {
    let (read, written) =
        (usage.cached_tokens.unwrap_or_default(), usage.cache_write_tokens.unwrap_or_default());
    json!({
        "input_tokens": usage.prompt_tokens.saturating_sub(read).saturating_sub(written),
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"thinking_tokens": usage.reasoning_tokens.unwrap_or_default()},
        "server_tool_use": null,
        "service_tier": "standard",
    })
}
