//! Accumulates the events of a stream into one reply.
//!
//! Pure. A stream is complete with `metadata` after `messageStop`, or at its end after `messageStop`. Blocks of text and
//! reasoning start with their first delta.

use agent::model::{Error, Observer, Reply};
use serde_json::{Value, json};

use crate::accumulator::{Accumulate, Progress};
use crate::block_reply::BlockReply;
use crate::error_object::ErrorObject;
use crate::event_stream::EXCEPTION;
use crate::json;

/// The type of a call that the provider runs itself.
const SERVER_TOOL: &str = "server_tool_use";

/// The state of a reply under construction.
#[derive(Debug)]
pub struct Accumulator {
    reply: BlockReply,
    /// The index of the newest block.
    block: u32,
}

impl Accumulator {
    /// Creates an accumulator. Pass a different nonce for each response.
    pub fn new(nonce: u64) -> Self {
        Self { reply: BlockReply::new(nonce), block: 0 }
    }
}

impl Accumulate for Accumulator {
    fn push(&mut self, kind: &str, data: &str, observer: &mut Observer<'_>) -> Result<Progress, Error> {
        let event = match json::parse_object(data) {
            Some(event) => Value::Object(event),
            None if self.needs(kind) => return Err(Error::Malformed),
            None => Value::Null,
        };
        match kind {
            "contentBlockStart" => self.start_block(&event, observer)?,
            "contentBlockDelta" => self.push_delta(&event, observer)?,
            "messageStop" => {
                let reason = event.get("stopReason").and_then(Value::as_str).unwrap_or("unknown");
                self.reply.stop_reason = Some(reason.to_owned());
            }
            "metadata" => {
                self.reply.update_usage(event.get("usage"), observer);
                if self.reply.stop_reason.is_some() {
                    return self.reply.complete(observer).map(Progress::Complete);
                }
            }
            EXCEPTION => return Err(self.reply.fail(ErrorObject::from_value(&event), data, observer)),
            // From a server without streaming.
            _ if event.pointer("/output/message").is_some() => {
                return self.read_whole(&event, observer).map(Progress::Complete);
            }
            "" if event.get("message").is_some() => {
                return Err(self.reply.fail(ErrorObject::from_value(&event), data, observer));
            }
            // `messageStart`, `contentBlockStop`, and future ones.
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
    fn needs(&self, kind: &str) -> bool {
        matches!(kind, "contentBlockStart" | "contentBlockDelta" | "" | EXCEPTION)
            && self.reply.stop_reason.is_none()
    }

    /// Returns the index of a block: the event's own, or else the newest.
    fn index(&mut self, event: &Value) -> u32 {
        self.block = json::index(event.get("contentBlockIndex")).unwrap_or(self.block);
        self.block
    }

    /// Reads a response that was sent as one JSON document.
    fn read_whole(&mut self, response: &Value, observer: &mut Observer<'_>) -> Result<Reply, Error> {
        let blocks = response.pointer("/output/message/content").and_then(Value::as_array);
        for (index, block) in blocks.into_iter().flatten().enumerate() {
            self.start_block(&json!({ "contentBlockIndex": index, "start": block }), observer)?;
            let reasoning = |name: &str| {
                let reasoning = block.get("reasoningContent")?;
                Some(
                    json!({ "reasoningContent": { name: reasoning.get("reasoningText").unwrap_or(reasoning).get(name)? } }),
                )
            };
            let text = block.get("text").map(|text| json!({ "text": text }));
            let parts = [text, reasoning("text"), reasoning("signature"), reasoning("redactedContent")];
            for delta in parts.into_iter().flatten() {
                self.push_delta(&json!({ "contentBlockIndex": index, "delta": delta }), observer)?;
            }
        }
        self.reply.stop_reason = response.get("stopReason").and_then(Value::as_str).map(str::to_owned);
        self.reply.update_usage(response.get("usage"), observer);
        self.reply.complete(observer)
    }

    /// Starts a call. Other blocks have nothing in their start.
    fn start_block(&mut self, event: &Value, observer: &mut Observer<'_>) -> Result<(), Error> {
        self.reply.text.mark_output(observer);
        let call = event.pointer("/start/toolUse");
        let member = |name: &str| call.and_then(|call| call.get(name)?.as_str()).unwrap_or_default();
        if call.is_none() || member("type") == SERVER_TOOL {
            return Ok(());
        }
        self.reply.text.mark_piece(member("name"), observer);
        let input = call.and_then(|call| call.get("input"));
        let index = self.index(event);
        self.reply.blocks.start_call(index, member("toolUseId"), member("name"), input)
    }

    fn push_delta(&mut self, event: &Value, observer: &mut Observer<'_>) -> Result<(), Error> {
        self.reply.text.mark_output(observer);
        let index = self.index(event);
        let member = |pointer: &str| event.pointer(pointer).and_then(Value::as_str);
        if let Some(text) = member("/delta/text") {
            return self.reply.text.push((index, 0), text, observer);
        }
        let (blocks, output) = (&mut self.reply.blocks, &mut self.reply.text);
        if let Some(input) = event.pointer("/delta/toolUse/input") {
            let input = json::string_or_json(input);
            output.mark_piece(&input, observer);
            return blocks.push_input(index, &input);
        }
        if let Some(thinking) = member("/delta/reasoningContent/text") {
            output.push_reasoning((index, 0), thinking, observer);
            return blocks.push_thinking(index, thinking);
        }
        if let Some(signature) = member("/delta/reasoningContent/signature") {
            return blocks.push_signature(index, signature);
        }
        if let Some(redacted) = member("/delta/reasoningContent/redactedContent") {
            return blocks.push_redacted(index, redacted);
        }
        // Citations, and future ones.
        Ok(())
    }
}

#[cfg(test)]
mod tests;
