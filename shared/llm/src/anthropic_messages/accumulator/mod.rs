//! Accumulates the events of a stream into one reply.
//!
//! Pure. A stream is complete with `message_stop`, or at its end after a stop reason.

use agent::model::{Error, Observer, Reply};
use serde_json::{Map, Value};

use crate::accumulator::{Accumulate, Progress};
use crate::block_reply::BlockReply;
use crate::error_object::ErrorObject;

/// The state of a reply under construction.
#[derive(Debug)]
pub struct Accumulator(BlockReply);

impl Accumulator {
    /// Creates an accumulator. Pass a different nonce for each response.
    pub fn new(nonce: u64) -> Self {
        Self(BlockReply::new(nonce))
    }
}

impl Accumulate for Accumulator {
    fn push(&mut self, kind: &str, data: &str, observer: &mut Observer<'_>) -> Result<Progress, Error> {
        if matches!(data.trim(), "" | "[DONE]") {
            return Ok(Progress::Pending);
        }
        let event: Map<String, Value> = serde_json::from_str(data).map_err(|_| Error::Malformed)?;
        match event.get("type").and_then(Value::as_str).unwrap_or(kind) {
            "message_start" => self.start(event.get("message"), observer),
            "content_block_start" => {
                self.start_block(index(&event), event.get("content_block"), observer)?;
            }
            "content_block_delta" => self.push_delta(index(&event), event.get("delta"), observer)?,
            "message_delta" => {
                self.0.update_usage(event.get("usage"), observer);
                let reason = event.get("delta").and_then(|delta| delta.get("stop_reason")?.as_str());
                self.0.stop_reason = reason.map(str::to_owned).or(self.0.stop_reason.take());
            }
            "message_stop" => return self.0.complete(observer).map(Progress::Complete),
            // From a server without streaming.
            "message" => return self.read_message(&Value::Object(event), observer).map(Progress::Complete),
            "error" => {
                let error = ErrorObject::from_value(&Value::Object(event));
                return Err(self.0.fail(error, data, observer));
            }
            // `ping`, `content_block_stop`, and future ones.
            _ => {}
        }
        Ok(Progress::Pending)
    }

    fn finish(&mut self, observer: &mut Observer<'_>) -> Result<Reply, Error> {
        self.0.finish(observer)
    }

    fn has_text(&self) -> bool {
        !self.0.text.emitted.is_empty()
    }

    fn has_output(&self) -> bool {
        self.0.text.has_output
    }

    fn error(&self) -> Option<&ErrorObject> {
        self.0.error.as_ref()
    }
}

impl Accumulator {
    fn start(&mut self, message: Option<&Value>, observer: &Observer<'_>) {
        let member = |name: &str| Some(message?.get(name)?.as_str()?.to_owned());
        (self.0.id, self.0.model) = (member("id"), member("model"));
        self.0.update_usage(message.and_then(|message| message.get("usage")), observer);
    }

    /// Starts a block. The blocks of hosted tools are skipped.
    fn start_block(
        &mut self,
        index: u32,
        block: Option<&Value>,
        observer: &mut Observer<'_>,
    ) -> Result<(), Error> {
        self.0.text.mark_output(observer);
        let Some(block) = block else { return Ok(()) };
        let member = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
        match member("type") {
            "text" => self.0.text.push((index, 0), member("text"), observer),
            "thinking" => {
                self.0.text.mark_piece(member("thinking"), observer);
                self.0.blocks.push_thinking(index, member("thinking"))?;
                self.0.blocks.push_signature(index, member("signature"))
            }
            "redacted_thinking" => self.0.blocks.push_redacted(index, member("data")),
            "tool_use" => {
                self.0.text.mark_piece(member("name"), observer);
                self.0.blocks.start_call(index, member("id"), member("name"), block.get("input"))
            }
            _ => Ok(()),
        }
    }

    fn push_delta(
        &mut self,
        index: u32,
        delta: Option<&Value>,
        observer: &mut Observer<'_>,
    ) -> Result<(), Error> {
        self.0.text.mark_output(observer);
        let member = |name: &str| delta.and_then(|delta| delta.get(name)?.as_str()).unwrap_or_default();
        match member("type") {
            "text_delta" => self.0.text.push((index, 0), member("text"), observer),
            "input_json_delta" => {
                self.0.text.mark_piece(member("partial_json"), observer);
                self.0.blocks.push_input(index, member("partial_json"))
            }
            "thinking_delta" => {
                self.0.text.mark_piece(member("thinking"), observer);
                self.0.blocks.push_thinking(index, member("thinking"))
            }
            "signature_delta" => self.0.blocks.push_signature(index, member("signature")),
            // Citations, and future ones.
            _ => Ok(()),
        }
    }

    /// Reads a message that was sent as one JSON document.
    fn read_message(&mut self, message: &Value, observer: &mut Observer<'_>) -> Result<Reply, Error> {
        self.start(Some(message), observer);
        let blocks = message.get("content").and_then(Value::as_array);
        for (index, block) in blocks.into_iter().flatten().enumerate() {
            self.start_block(u32::try_from(index).unwrap_or(u32::MAX), Some(block), observer)?;
        }
        self.0.stop_reason = message.get("stop_reason").and_then(Value::as_str).map(str::to_owned);
        self.0.complete(observer)
    }
}

fn index(event: &Map<String, Value>) -> u32 {
    let index = event.get("index").and_then(Value::as_u64);
    index.and_then(|index| u32::try_from(index).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
