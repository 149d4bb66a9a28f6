//! Accumulates the events of a stream into one reply.
//!
//! Pure. A stream is complete with `message_stop`, or at its end after a stop reason. Each text block is a segment of the
//! text. Thinking is kept with its signature, to be sent back before the results of the reply's calls.

mod block;

use agent::model::{Error, Observer, Reply};
use serde_json::{Map, Value, json};

use crate::accumulator::{Accumulate, Progress, ReplyText};
use crate::anthropic_messages::usage::Usage;
use crate::error_object::ErrorObject;
use crate::tool_calls::{ReceivedCall, ToolCalls};
use crate::{failure, wire_capture};

use block::Blocks;

/// The state of a reply under construction.
#[derive(Debug, Default)]
pub struct Accumulator {
    /// Makes the ids that are generated here unique across replies.
    nonce: u64,
    /// The text. Its places are blocks.
    text: ReplyText,
    blocks: Blocks,
    id: Option<String>,
    model: Option<String>,
    stop_reason: Option<String>,
    usage: Usage,
    /// The error that an event reported.
    error: Option<ErrorObject>,
}

impl Accumulator {
    /// Creates an accumulator. Pass a different nonce for each response.
    pub fn new(nonce: u64) -> Self {
        Self { nonce, ..Self::default() }
    }
}

impl Accumulate for Accumulator {
    fn push(&mut self, kind: &str, data: &str, observer: &mut Observer<'_>) -> Result<Progress, Error> {
        if matches!(data.trim(), "" | "[DONE]") {
            return Ok(Progress::Pending);
        }
        let event: Map<String, Value> = serde_json::from_str(data).map_err(|_| Error::Malformed)?;
        match event.get("type").and_then(Value::as_str).unwrap_or(kind) {
            "message_start" => self.start(event.get("message")),
            "content_block_start" => {
                self.start_block(index(&event), event.get("content_block"), observer)?;
            }
            "content_block_delta" => self.push_delta(index(&event), event.get("delta"), observer)?,
            "message_delta" => {
                self.usage.update(event.get("usage"));
                let reason = event.get("delta").and_then(|delta| delta.get("stop_reason")?.as_str());
                self.stop_reason = reason.map(str::to_owned).or(self.stop_reason.take());
            }
            "message_stop" => return self.complete(observer).map(Progress::Complete),
            // From a server without streaming.
            "message" => return self.read_message(Value::Object(event), observer).map(Progress::Complete),
            "error" => {
                observer.add_usage(self.usage.counts());
                wire_capture::capture_response(observer, data);
                return Err(self.fail(ErrorObject::from_value(&Value::Object(event))));
            }
            // `ping`, `content_block_stop`, and future ones.
            _ => {}
        }
        Ok(Progress::Pending)
    }

    fn finish(&mut self, observer: &mut Observer<'_>) -> Result<Reply, Error> {
        if self.stop_reason.is_none() {
            observer.add_usage(self.usage.counts());
            return Err(Error::Malformed);
        }
        self.complete(observer)
    }

    fn has_text(&self) -> bool {
        !self.text.emitted.is_empty()
    }

    fn has_output(&self) -> bool {
        self.text.has_output
    }

    fn error(&self) -> Option<&ErrorObject> {
        self.error.as_ref()
    }
}

impl Accumulator {
    fn start(&mut self, message: Option<&Value>) {
        let member = |name: &str| Some(message?.get(name)?.as_str()?.to_owned());
        (self.id, self.model) = (member("id"), member("model"));
        self.usage.update(message.and_then(|message| message.get("usage")));
    }

    fn start_block(
        &mut self,
        index: u32,
        block: Option<&Value>,
        observer: &mut Observer<'_>,
    ) -> Result<(), Error> {
        self.text.mark_output(observer);
        let Some(block) = block else { return Ok(()) };
        let text = block.get("text").and_then(Value::as_str).unwrap_or_default();
        self.text.push((index, 0), text, observer)?;
        self.blocks.start(index, block)
    }

    fn push_delta(
        &mut self,
        index: u32,
        delta: Option<&Value>,
        observer: &mut Observer<'_>,
    ) -> Result<(), Error> {
        self.text.mark_output(observer);
        let member = |name: &str| delta.and_then(|delta| delta.get(name)?.as_str()).unwrap_or_default();
        match member("type") {
            "text_delta" => self.text.push((index, 0), member("text"), observer),
            "input_json_delta" => self.blocks.push_input(index, member("partial_json")),
            "thinking_delta" => self.blocks.push_thinking(index, member("thinking")),
            "signature_delta" => self.blocks.push_signature(index, member("signature")),
            // Citations, and future ones.
            _ => Ok(()),
        }
    }

    /// Reads a message that was sent as one JSON document.
    fn read_message(&mut self, message: Value, observer: &mut Observer<'_>) -> Result<Reply, Error> {
        self.start(Some(&message));
        let blocks = message.get("content").and_then(Value::as_array);
        for (index, block) in blocks.into_iter().flatten().enumerate() {
            self.start_block(u32::try_from(index).unwrap_or(u32::MAX), Some(block), observer)?;
        }
        self.stop_reason = message.get("stop_reason").and_then(Value::as_str).map(str::to_owned);
        self.complete(observer)
    }

    fn fail(&mut self, error: ErrorObject) -> Error {
        let classified = failure::classify_failed(Some(&error));
        self.error = Some(error);
        classified
    }

    /// Returns the reply. Unless the reply is complete, its calls are dropped.
    fn complete(&mut self, observer: &mut Observer<'_>) -> Result<Reply, Error> {
        observer.add_usage(self.usage.counts());
        if observer.raw.is_some() {
            wire_capture::capture_response(observer, &self.assembled().to_string());
        }
        let is_truncated = match self.stop_reason.as_deref() {
            Some("refusal") => return Err(Error::ContentFiltered),
            Some("max_tokens" | "model_context_window_exceeded") => true,
            _ => false,
        };
        if is_truncated && self.text.is_blank() {
            let overflows = self.stop_reason.as_deref() == Some("model_context_window_exceeded");
            return Err(if overflows { Error::ContextTooLong } else { Error::Incomplete });
        }
        let received: Vec<ReceivedCall> =
            if is_truncated { Vec::new() } else { self.blocks.calls().collect() };
        let ToolCalls { calls, has_unmatched: _ } = ToolCalls::collect(&received, self.nonce)?;
        Ok(Reply {
            is_stored: false,
            response_id: self.id.take().unwrap_or_else(|| format!("unnamed_{:016x}", self.nonce)),
            model: self.model.take().unwrap_or_default(),
            text: self.text.take(),
            calls,
            is_truncated,
            replaces_stream: false,
            reasoning: self.blocks.reasoning(),
            hosted: Vec::new(),
        })
    }

    /// Assembles the message as the API sends it without streaming.
    fn assembled(&self) -> Value {
        let usage = self.usage.counts().map(|usage| {
            json!({
                "prompt_tokens": usage.prompt_tokens, "cached_tokens": usage.cached_tokens,
                "cache_write_tokens": usage.cache_write_tokens, "output_tokens": usage.completion_tokens,
            })
        });
        let calls: Vec<Value> = self
            .blocks
            .calls()
            .map(|call| json!({ "id": call.call_id, "name": call.name, "arguments": call.arguments }))
            .collect();
        json!({
            "id": self.id, "type": "message", "model": self.model, "stop_reason": self.stop_reason,
            "text": self.text.emitted, "tool_uses": calls, "usage": usage,
        })
    }
}

fn index(event: &Map<String, Value>) -> u32 {
    let index = event.get("index").and_then(Value::as_u64);
    index.and_then(|index| u32::try_from(index).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
