//! Accumulates the events of a stream into one reply.
//!
//! Pure. A stream is complete with `message_stop`, or at its end after a stop reason.

use agent::model::{Error, Observer, Reply};
use serde_json::{Map, Value};

use crate::accumulator::{Accumulate, Progress};
use crate::block_reply::BlockReply;
use crate::error_object::ErrorObject;
use crate::json;

/// The state of a reply under construction.
#[derive(Debug)]
pub struct Accumulator {
    reply: BlockReply,
    /// The index of the newest block.
    block: Option<u32>,
}

impl Accumulator {
    /// Creates an accumulator. Pass a different nonce for each response.
    pub fn new(nonce: u64) -> Self {
        Self { reply: BlockReply::new(nonce), block: None }
    }
}

impl Accumulate for Accumulator {
    fn push(&mut self, kind: &str, data: &str, observer: &mut Observer<'_>) -> Result<Progress, Error> {
        if matches!(data.trim(), "" | "[DONE]") {
            return Ok(Progress::Pending);
        }
        let event = match json::parse_object(data) {
            Some(event) => event,
            None if self.needs(kind, data) => return Err(Error::Malformed),
            None => Map::new(),
        };
        match event_kind(kind, &event) {
            "message_start" => self.start(event.get("message"), observer),
            "content_block_start" => {
                let next = self.block.map_or(0, |block| block.saturating_add(1));
                let index = json::index(event.get("index")).unwrap_or(next);
                self.start_block(index, event.get("content_block"), observer)?;
            }
            "content_block_delta" => {
                let index = json::index(event.get("index")).or(self.block).unwrap_or_default();
                self.push_delta(index, event.get("delta"), observer)?;
            }
            "message_delta" => {
                self.reply.update_usage(event.get("usage"), observer);
                let reason = event.get("delta").and_then(|delta| delta.get("stop_reason")?.as_str());
                self.reply.stop_reason = reason.map(str::to_owned).or(self.reply.stop_reason.take());
            }
            "message_stop" => return self.reply.complete(observer).map(Progress::Complete),
            // From a server without streaming.
            "message" => return self.read_message(&Value::Object(event), observer).map(Progress::Complete),
            "error" => {
                let error = ErrorObject::from_value(&Value::Object(event));
                return Err(self.reply.fail(error, data, observer));
            }
            // `ping`, `content_block_stop`, and future ones.
            _ => {}
        }
        Ok(Progress::Pending)
    }

    fn finish(&mut self, observer: &mut Observer<'_>) -> Result<Reply, Error> {
        self.reply.finish(observer)
    }

    fn has_text(&self) -> bool {
        !self.reply.text.emitted.is_empty()
    }

    fn has_output(&self) -> bool {
        self.reply.text.has_output
    }

    fn error(&self) -> Option<&ErrorObject> {
        self.reply.error.as_ref()
    }
}

impl Accumulator {
    /// True if an event that can't be read may hold a part of the reply.
    fn needs(&self, kind: &str, data: &str) -> bool {
        let may_be_needed = match kind {
            "content_block_start" | "content_block_delta" | "error" => true,
            "" | "message" => data.trim_start().starts_with(['{', '[']),
            _ => false,
        };
        may_be_needed && self.reply.stop_reason.is_none()
    }

    fn start(&mut self, message: Option<&Value>, observer: &Observer<'_>) {
        let member = |name: &str| Some(message?.get(name)?.as_str()?.to_owned());
        (self.reply.id, self.reply.model) = (member("id"), member("model"));
        self.reply.update_usage(message.and_then(|message| message.get("usage")), observer);
    }

    /// Starts a block. The blocks of hosted tools are skipped.
    fn start_block(
        &mut self,
        index: u32,
        block: Option<&Value>,
        observer: &mut Observer<'_>,
    ) -> Result<(), Error> {
        self.block = Some(index);
        self.reply.text.mark_output(observer);
        let Some(block) = block else { return Ok(()) };
        let member = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
        match member("type") {
            "text" => self.reply.text.push((index, 0), member("text"), observer),
            "thinking" => {
                self.reply.text.push_reasoning((index, 0), member("thinking"), observer);
                self.reply.blocks.push_thinking(index, member("thinking"))?;
                self.reply.blocks.push_signature(index, member("signature"))
            }
            "redacted_thinking" => self.reply.blocks.push_redacted(index, member("data")),
            "tool_use" => {
                self.reply.text.mark_piece(member("name"), observer);
                self.reply.blocks.start_call(index, member("id"), member("name"), block.get("input"))
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
        self.reply.text.mark_output(observer);
        let member = |name: &str| delta.and_then(|delta| delta.get(name)?.as_str()).unwrap_or_default();
        match member("type") {
            "text_delta" => self.reply.text.push((index, 0), member("text"), observer),
            "input_json_delta" => {
                let input = delta.and_then(|delta| delta.get("partial_json"));
                let input = input.map(json::string_or_json).unwrap_or_default();
                self.reply.text.mark_piece(&input, observer);
                self.reply.blocks.push_input(index, &input)
            }
            "thinking_delta" => {
                self.reply.text.push_reasoning((index, 0), member("thinking"), observer);
                self.reply.blocks.push_thinking(index, member("thinking"))
            }
            "signature_delta" => self.reply.blocks.push_signature(index, member("signature")),
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
        self.reply.stop_reason = message.get("stop_reason").and_then(Value::as_str).map(str::to_owned);
        self.reply.complete(observer)
    }
}

/// Returns the type of an event. One without is told by the stream's `event` field, or else by its members.
fn event_kind<'a>(kind: &'a str, event: &'a Map<String, Value>) -> &'a str {
    match event.get("type").and_then(Value::as_str) {
        Some(kind) => kind,
        None if !matches!(kind, "" | "message") => kind,
        None if event.get("content").is_some_and(Value::is_array) => "message",
        None if event.get("error").is_some_and(ErrorObject::is_reported) => "error",
        None => "",
    }
}

#[cfg(test)]
mod tests;
