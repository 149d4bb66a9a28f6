//! Chat completions: a turn's outcome as a `chat.completion` object.

use agent::model::freeform;
use contracts::{ErrorCode, Usage, response::ToolCall};
use serde_json::{Value, json};

use crate::json_object::set;
use crate::{
    error::ApiError,
    id::ResponseId,
    response::{Outcome, Status},
};

/// The members of a completion besides its outcome.
#[derive(Debug, Clone)]
pub struct Completion {
    /// The response that it shows.
    pub response: ResponseId,
    /// The time of creation, in seconds.
    pub created: i64,
    /// The model as the request names it.
    pub model: String,
    /// The names of the request's freeform tools.
    pub freeform: Vec<String>,
}

impl Completion {
    /// Returns the completion with its outcome.
    ///
    /// # Errors
    /// If the turn failed or was cancelled: there is no such completion.
    pub fn with_outcome(&self, outcome: &Outcome) -> Result<Value, ApiError> {
        let (content, calls, usage) = match outcome {
            Outcome::Answer { text, usage, .. } => (json!(text), Vec::new(), usage.unwrap_or_default()),
            Outcome::Calls { text, calls } => {
                let content = if text.is_empty() { Value::Null } else { json!(text) };
                (content, self.calls(calls), Usage::default())
            }
            Outcome::Failed { text, .. } if outcome.status() == Status::Incomplete => {
                (json!(text), Vec::new(), Usage::default())
            }
            Outcome::Failed { error, .. } => return Err(error.clone().into()),
        };
        let mut message =
            json!({"role": "assistant", "content": content, "refusal": null, "annotations": []});
        if !calls.is_empty() {
            set(&mut message, "tool_calls", json!(calls));
        }
        let choice = json!({
            "index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason(outcome),
        });
        let mut object = self.object("chat.completion");
        set(&mut object, "choices", json!([choice]));
        set(&mut object, "usage", self::usage(usage));
        Ok(object)
    }

    /// Returns a chunk of a streamed completion.
    pub(super) fn chunk(&self, delta: &Value, finish_reason: Option<&str>) -> Value {
        let mut object = self.object("chat.completion.chunk");
        set(
            &mut object,
            "choices",
            json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason}]),
        );
        object
    }

    /// Returns the chunk with the usage.
    pub(super) fn usage_chunk(&self, outcome: &Outcome) -> Value {
        let usage = match outcome {
            Outcome::Answer { usage, .. } => usage.unwrap_or_default(),
            _ => Usage::default(),
        };
        let mut object = self.object("chat.completion.chunk");
        set(&mut object, "choices", json!([]));
        set(&mut object, "usage", self::usage(usage));
        object
    }

    /// Returns calls of tools. Their ids name the response, so that their results find the turn.
    pub(super) fn calls(&self, calls: &[ToolCall]) -> Vec<Value> {
        let call = |(n, call): (usize, &ToolCall)| {
            let (id, name) = (self.response.call(n), &call.name);
            match self.freeform.contains(name) {
                true => {
                    let input = freeform::input(&call.arguments_json);
                    json!({"id": id, "type": "custom", "custom": {"name": name, "input": input}})
                }
                false => json!({
                    "id": id, "type": "function", "function": {"name": name, "arguments": call.arguments_json},
                }),
            }
        };
        calls.iter().enumerate().map(call).collect()
    }

    fn object(&self, kind: &str) -> Value {
        json!({
            "id": format!("chatcmpl-{}", self.response),
            "object": kind,
            "created": self.created,
            "model": self.model,
            "service_tier": "default",
        })
    }
}

/// Returns the reason for which the model stopped.
pub(super) fn finish_reason(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Answer { is_truncated: true, .. } => "length",
        Outcome::Answer { .. } => "stop",
        Outcome::Calls { .. } => "tool_calls",
        Outcome::Failed { error, .. } if error.error_code == ErrorCode::ModelContentFiltered => {
            "content_filter"
        }
        Outcome::Failed { .. } => "length",
    }
}

fn usage(usage: Usage) -> Value {
    json!({
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens.unwrap_or_default(), "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning_tokens.unwrap_or_default(), "audio_tokens": 0,
            "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
        },
    })
}
