//! Accumulates the events of a stream into one reply.
//!
//! Pure. A stream is complete with `metadata` after `messageStop`, or at its end after `messageStop`. Blocks of text and
//! reasoning start with their first delta.

use agent::model::{Error, Observer, Reply};
use serde_json::Value;

use crate::accumulator::{Accumulate, Progress};
use crate::block_reply::BlockReply;
use crate::error_object::ErrorObject;
use crate::event_stream::EXCEPTION;

/// The type of a call that the provider runs itself.
const SERVER_TOOL: &str = "server_tool_use";

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
        let event: Value = serde_json::from_str(data).map_err(|_| Error::Malformed)?;
        match kind {
            "contentBlockStart" => self.start_block(&event, observer)?,
            "contentBlockDelta" => self.push_delta(&event, observer)?,
            "messageStop" => {
                self.0.stop_reason = event.get("stopReason").and_then(Value::as_str).map(str::to_owned);
            }
            "metadata" => {
                self.0.update_usage(event.get("usage"), observer);
                if self.0.stop_reason.is_some() {
                    return self.0.complete(observer).map(Progress::Complete);
                }
            }
            EXCEPTION => return Err(self.0.fail(ErrorObject::from_value(&event), data, observer)),
            // `messageStart`, `contentBlockStop`, and future ones.
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
    /// Starts a call. Other blocks have nothing in their start.
    fn start_block(&mut self, event: &Value, observer: &mut Observer<'_>) -> Result<(), Error> {
        self.0.text.mark_output(observer);
        let call = event.pointer("/start/toolUse");
        let member = |name: &str| call.and_then(|call| call.get(name)?.as_str()).unwrap_or_default();
        if call.is_none() || member("type") == SERVER_TOOL {
            return Ok(());
        }
        self.0.text.mark_piece(member("name"), observer);
        self.0.blocks.start_call(index(event), member("toolUseId"), member("name"), None)
    }

    fn push_delta(&mut self, event: &Value, observer: &mut Observer<'_>) -> Result<(), Error> {
        self.0.text.mark_output(observer);
        let index = index(event);
        let member = |pointer: &str| event.pointer(pointer).and_then(Value::as_str);
        if let Some(text) = member("/delta/text") {
            return self.0.text.push((index, 0), text, observer);
        }
        let (blocks, output) = (&mut self.0.blocks, &mut self.0.text);
        if let Some(input) = member("/delta/toolUse/input") {
            output.mark_piece(input, observer);
            return blocks.push_input(index, input);
        }
        if let Some(thinking) = member("/delta/reasoningContent/text") {
            output.mark_piece(thinking, observer);
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

fn index(event: &Value) -> u32 {
    let index = event.get("contentBlockIndex").and_then(Value::as_u64);
    index.and_then(|index| u32::try_from(index).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
