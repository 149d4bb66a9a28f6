//! Events of the protocol as server-sent events.

use contracts::{ErrorCode, Usage};
use serde_json::{Value, json};

use crate::{error::ApiError, request::Version};

/// The version that the service speaks.
const PROTOCOL_VERSION: &str = "1.0";

/// Formats an event.
pub(crate) fn sse(event: &Value) -> String {
    format!("data: {event}\n\n")
}

/// The names of a run in its first and last event.
#[derive(Debug, Clone)]
pub struct RunFrame {
    /// The thread.
    pub thread: String,
    /// The run.
    pub run: String,
    /// The run that started this one.
    pub parent_run: Option<String>,
    /// The version that the client speaks.
    pub version: Version,
}

/// The way in which a run ends.
pub(crate) enum Finish<'a> {
    /// With an answer, or with calls of the client's tools.
    Success { pending_calls: &'a [String] },
    /// The run was stopped.
    Cancelled,
}

impl RunFrame {
    pub(crate) fn started(&self) -> String {
        let mut event = json!({"type": "RUN_STARTED", "threadId": self.thread, "runId": self.run});
        if self.version == Version::V1 {
            insert(&mut event, "protocolVersion", json!(PROTOCOL_VERSION));
        }
        if let Some(parent) = &self.parent_run {
            insert(&mut event, "parentRunId", json!(parent));
        }
        sse(&event)
    }

    pub(crate) fn finished(&self, finish: &Finish<'_>, usage: Option<Usage>) -> String {
        let mut event = json!({"type": "RUN_FINISHED", "threadId": self.thread, "runId": self.run});
        // Earlier clients know neither the calls nor a cancelled run.
        if self.version == Version::V1 {
            let outcome = match finish {
                Finish::Success { pending_calls: [] } => json!({"type": "success"}),
                Finish::Success { pending_calls } => {
                    json!({"type": "success", "pendingToolCallIds": pending_calls})
                }
                Finish::Cancelled => json!({"type": "cancelled"}),
            };
            insert(&mut event, "outcome", outcome);
        }
        if let Some(usage) = usage {
            insert(&mut event, "usage", json!([self.usage(usage)]));
        }
        sse(&event)
    }

    fn usage(&self, usage: Usage) -> Value {
        let mut shown = json!({
            "inputTokens": usage.prompt_tokens,
            "outputTokens": usage.completion_tokens,
            "totalTokens": usage.total_tokens,
        });
        let mut add = |name: &str, tokens: Option<u64>| {
            if let Some(tokens) = tokens {
                insert(&mut shown, name, json!(tokens));
            }
        };
        add("reasoningTokens", usage.reasoning_tokens);
        add("cachedInputTokens", usage.cached_tokens);
        add("cacheWriteInputTokens", usage.cache_write_tokens.filter(|_| self.version == Version::V1));
        shown
    }
}

/// Returns the last event of a failed run.
pub(crate) fn failed(error: &ApiError) -> String {
    sse(&json!({"type": "RUN_ERROR", "message": error.message, "code": error.code.as_str()}))
}

/// Returns the last event of a connection that its turn outlasts.
pub(crate) fn outlasted() -> String {
    let message = "The run continues. Connect to its thread again.";
    failed(&ApiError::new(ErrorCode::TurnInProgress, message))
}

pub(crate) fn text_start(id: &str) -> String {
    sse(&json!({"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"}))
}

pub(crate) fn text_delta(id: &str, delta: &str) -> String {
    sse(&json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": delta}))
}

pub(crate) fn text_end(id: &str) -> String {
    sse(&json!({"type": "TEXT_MESSAGE_END", "messageId": id}))
}

pub(crate) fn call_start(id: &str, name: &str, parent: &str) -> String {
    let event =
        json!({"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name, "parentMessageId": parent});
    sse(&event)
}

/// Returns the arguments and the end of a call.
pub(crate) fn call_end(id: &str, arguments: &str) -> String {
    let arguments = match arguments {
        "" => String::new(),
        delta => sse(&json!({"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": delta})),
    };
    arguments + &sse(&json!({"type": "TOOL_CALL_END", "toolCallId": id}))
}

pub(crate) fn call_result(id: &str, content: &str) -> String {
    let message = crate::id::result(id);
    sse(&json!({
        "type": "TOOL_CALL_RESULT", "messageId": message, "toolCallId": id, "content": content, "role": "tool",
    }))
}

pub(crate) fn reasoning_start(id: &str) -> String {
    sse(&json!({"type": "REASONING_START", "messageId": id}))
        + &sse(&json!({"type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning"}))
}

pub(crate) fn reasoning_delta(id: &str, delta: &str) -> String {
    sse(&json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": id, "delta": delta}))
}

pub(crate) fn reasoning_end(id: &str) -> String {
    sse(&json!({"type": "REASONING_MESSAGE_END", "messageId": id}))
        + &sse(&json!({"type": "REASONING_END", "messageId": id}))
}

pub(crate) fn messages_snapshot(messages: &[Value]) -> String {
    sse(&json!({"type": "MESSAGES_SNAPSHOT", "messages": messages}))
}

pub(crate) fn state_snapshot(state: &Value) -> String {
    sse(&json!({"type": "STATE_SNAPSHOT", "snapshot": state}))
}

fn insert(event: &mut Value, name: &str, value: Value) {
    if let Value::Object(members) = event {
        members.insert(name.to_owned(), value);
    }
}
