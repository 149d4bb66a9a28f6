//! Responses: a turn's outcome as a `response` object.

use contracts::{
    AgentExecuteResponse, Error, ErrorCode, InvokeResult, Usage, json_bytes,
    read::StatusReason,
    response::{TOKEN_LIMIT_REACHED, ToolCall},
};
use serde_json::{Map, Value, json};

use crate::id::ResponseId;
use crate::json_object::set;

/// The outcome of a response.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The answer of a completed turn.
    Answer {
        /// The text.
        text: String,
        /// The token usage of the turn.
        usage: Option<Usage>,
        /// True if the model reached its token limit.
        is_truncated: bool,
    },
    /// Calls of the caller's functions.
    Calls {
        /// The text beside the calls.
        text: String,
        /// The calls.
        calls: Vec<ToolCall>,
    },
    /// The turn failed, or was cancelled.
    Failed {
        /// The error.
        error: Error,
        /// The text that was written until then.
        text: String,
    },
}

impl Outcome {
    /// Reads the outcome of a turn.
    #[must_use]
    pub fn from_body(body: &[u8]) -> Self {
        let result = json_bytes::from_slice::<InvokeResult<AgentExecuteResponse>>(body);
        let internal = || Error::from(ErrorCode::Internal);
        let outcome = result.map_or_else(|_| Err(vec![internal()]), InvokeResult::into_outcome);
        match outcome {
            Ok(AgentExecuteResponse::Final(answer)) => {
                let is_truncated = answer.user_warnings.iter().any(|warning| warning == TOKEN_LIMIT_REACHED);
                Self::Answer { text: answer.primary_output_text, usage: answer.usage, is_truncated }
            }
            Ok(AgentExecuteResponse::ClientToolContinuation(calls)) => Self::Calls {
                text: calls.tool_continuation_message.unwrap_or_default(),
                calls: calls.tool_calls.iter().cloned().collect(),
            },
            Err(errors) => {
                let error = errors.into_iter().next().unwrap_or_else(internal);
                Self::Failed { error, text: String::new() }
            }
        }
    }

    /// Returns the status of the response.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Answer { is_truncated: true, .. } => Status::Incomplete,
            Self::Answer { .. } | Self::Calls { .. } => Status::Completed,
            Self::Failed { error, .. } => match error.error_code {
                ErrorCode::TurnCancelled => Status::Cancelled,
                ErrorCode::ModelReplyIncomplete => Status::Incomplete,
                _ => Status::Failed,
            },
        }
    }
}

/// The status of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The turn runs.
    InProgress,
    /// The turn has its answer, or waits for outputs of functions.
    Completed,
    /// The model stopped early.
    Incomplete,
    /// The turn was cancelled.
    Cancelled,
    /// The turn failed.
    Failed,
}

impl Status {
    /// Returns the status as it appears on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Incomplete => "incomplete",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }

    /// Returns the status of a response whose turn has this one.
    #[must_use]
    pub fn of_turn(reason: StatusReason) -> Self {
        match reason {
            StatusReason::Running => Self::InProgress,
            StatusReason::WaitingForTools | StatusReason::Completed => Self::Completed,
            StatusReason::Cancelled => Self::Cancelled,
            _ => Self::Failed,
        }
    }
}

/// The members of a response besides its outcome.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The id.
    pub id: ResponseId,
    /// The time of creation, in seconds.
    pub created_at: i64,
    /// The time of the end, in seconds, if it is known.
    pub completed_at: Option<i64>,
    /// The members that come from the request.
    repeated: Map<String, Value>,
}

impl Frame {
    /// Creates the frame of a response. `model` applies if the request didn't name one.
    #[must_use]
    pub fn new(id: ResponseId, created_at: i64, repeated: &Value, model: &str) -> Self {
        let mut repeated = repeated.as_object().cloned().unwrap_or_default();
        repeated.entry("model").or_insert_with(|| json!(model));
        if id.round > 0 {
            let before = ResponseId { round: id.round.saturating_sub(1), ..id.clone() };
            repeated.insert("previous_response_id".to_owned(), json!(before.to_string()));
        }
        Self { id, created_at, completed_at: None, repeated }
    }

    /// Returns the response while its turn runs.
    #[must_use]
    pub fn in_progress(&self) -> Value {
        self.object(Status::InProgress, Vec::new(), None)
    }

    /// Returns the response with its outcome.
    #[must_use]
    pub fn with_outcome(&self, outcome: &Outcome) -> Value {
        let status = outcome.status();
        let mut object = match outcome {
            Outcome::Answer { text, usage, .. } => {
                let messages = self.messages(text, status.as_str(), 0);
                self.object(status, messages, Some(usage.unwrap_or_default()))
            }
            Outcome::Calls { text, calls } => {
                let mut output = self.messages(text, "completed", 0);
                let calls = calls.iter().enumerate();
                output.extend(calls.map(|(n, call)| self.call(n, call, "completed", &call.arguments_json)));
                // The usage of a turn counts in its last response.
                self.object(status, output, Some(Usage::default()))
            }
            Outcome::Failed { error, text } => {
                let mut object = self.object(status, self.messages(text, "incomplete", 0), None);
                if status == Status::Failed {
                    set(&mut object, "error", failure(error));
                }
                object
            }
        };
        if status == Status::Incomplete {
            set(&mut object, "incomplete_details", json!({"reason": "max_output_tokens"}));
        }
        object
    }

    /// Returns the message with a text as a list; empty without a text.
    fn messages(&self, text: &str, status: &str, index: u64) -> Vec<Value> {
        if text.is_empty() { Vec::new() } else { vec![self.message(index, status, vec![part(text)])] }
    }

    /// Returns a message of the model.
    pub(crate) fn message(&self, index: u64, status: &str, content: Vec<Value>) -> Value {
        json!({
            "id": self.id.message(index),
            "type": "message",
            "status": status,
            "role": "assistant",
            "content": content,
        })
    }

    /// Returns a call of a function. The call shares the id of its item, so that a client which sends back the call
    /// alone names the response.
    pub(crate) fn call(&self, position: usize, call: &ToolCall, status: &str, arguments: &str) -> Value {
        json!({
            "id": self.id.call(position),
            "type": "function_call",
            "status": status,
            "call_id": self.id.call(position),
            "name": call.name,
            "arguments": arguments,
        })
    }

    fn object(&self, status: Status, output: Vec<Value>, tokens: Option<Usage>) -> Value {
        let ended = (status == Status::Completed).then_some(self.completed_at.unwrap_or(self.created_at));
        let mut object = json!({
            "id": self.id.to_string(),
            "object": "response",
            "created_at": self.created_at,
            "completed_at": ended,
            "status": status.as_str(),
            "background": false,
            "error": null,
            "incomplete_details": null,
            "instructions": null,
            "max_output_tokens": null,
            "max_tool_calls": null,
            "metadata": {},
            "output": output,
            "parallel_tool_calls": true,
            "previous_response_id": null,
            "prompt_cache_key": null,
            "reasoning": {"effort": null, "summary": null},
            "safety_identifier": null,
            "service_tier": "default",
            "store": true,
            "temperature": 1.0,
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": [],
            "top_logprobs": 0,
            "top_p": 1.0,
            "truncation": "auto",
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
        });
        if let Value::Object(members) = &mut object {
            // The published schema has no null here.
            members.extend(tokens.map(|tokens| ("usage".to_owned(), usage(tokens))));
            members.extend(self.repeated.clone());
        }
        object
    }
}

/// Returns a part with the text of a message.
pub(crate) fn part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

/// Returns the error of a failed response.
fn failure(error: &Error) -> Value {
    let code = match error.error_code {
        ErrorCode::ModelRateLimited | ErrorCode::ModelQuotaExceeded => "rate_limit_exceeded",
        code if code.http_status() == 400 => "invalid_prompt",
        _ => "server_error",
    };
    json!({"code": code, "message": error.message})
}

fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cached_tokens.unwrap_or_default(),
            "cache_write_tokens": usage.cache_write_tokens.unwrap_or_default(),
        },
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens.unwrap_or_default()},
        "total_tokens": usage.total_tokens,
    })
}
