//! A reply that arrives in blocks of text, thinking and calls, as on the wires `anthropic-messages` and
//! `bedrock-converse`. Each of them reads its own events into it.
//!
//! Pure. Each text block is a segment of the text. Thinking is kept with its signature, to be sent back before the results
//! of the reply's calls.

mod blocks;
mod usage;

use agent::model::{Error, Observer, Reply, ReplyItem};
use serde_json::{Value, json};

use crate::accumulator::ReplyText;
use crate::error_object::ErrorObject;
use crate::tool_calls::{ReceivedCall, ToolCalls};
use crate::{failure, wire_capture};

pub(crate) use blocks::Blocks;
pub use blocks::{REDACTED_THINKING, SUMMARIZED, THINKING};
pub(crate) use usage::Usage;

/// True if the item of an earlier reply is between two blocks of thinking of these wires. Their provider refuses two blocks
/// without the text between them.
pub(crate) fn separates_reasoning(items: &[ReplyItem], at: usize) -> bool {
    let is_thinking = |item: Option<&ReplyItem>| {
        matches!(item, Some(ReplyItem::Reasoning(thought))
            if [THINKING, REDACTED_THINKING].contains(&thought.id.as_str()) && !thought.encrypted.is_empty())
    };
    is_thinking(at.checked_sub(1).and_then(|before| items.get(before))) && is_thinking(items.get(at + 1))
}

/// The state of a reply under construction.
#[derive(Debug, Default)]
pub(crate) struct BlockReply {
    /// Makes the ids that are generated here unique across replies.
    nonce: u64,
    /// The text. Its places are blocks.
    pub(crate) text: ReplyText,
    /// The blocks besides the text.
    pub(crate) blocks: Blocks,
    /// The provider's id of the response.
    pub(crate) id: Option<String>,
    /// The model, as the provider reports it.
    pub(crate) model: Option<String>,
    /// The reason why the model stopped.
    pub(crate) stop_reason: Option<String>,
    /// The token counts.
    pub(crate) usage: Usage,
    /// The error that an event reported.
    pub(crate) error: Option<ErrorObject>,
}

impl BlockReply {
    /// Creates an empty reply. Pass a different nonce for each response.
    pub(crate) fn new(nonce: u64) -> Self {
        Self { nonce, ..Self::default() }
    }

    /// Updates the token counts. Those of the input come with the first event, so a reply that breaks off has them.
    pub(crate) fn update_usage(&mut self, usage: Option<&Value>, observer: &Observer<'_>) {
        self.usage.update(usage);
        if let Some(counts) = self.usage.counts() {
            observer.meter.tell(counts);
        }
    }

    /// Ends the reply with the error that this event reports.
    pub(crate) fn fail(&mut self, error: ErrorObject, event: &str, observer: &mut Observer<'_>) -> Error {
        observer.add_partial_usage(self.usage.counts());
        wire_capture::capture_response(observer, event);
        let classified = failure::classify_failed(Some(&error));
        self.error = Some(error);
        classified
    }

    /// Ends the stream after its last event.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] without a stop reason, and as in [`Self::complete`].
    pub(crate) fn finish(&mut self, observer: &mut Observer<'_>) -> Result<Reply, Error> {
        if self.stop_reason.is_none() {
            observer.add_partial_usage(self.usage.counts());
            return Err(Error::Malformed);
        }
        self.complete(observer)
    }

    /// Returns the reply. Unless the reply is complete, its calls are dropped.
    ///
    /// # Errors
    ///
    /// The error that the stop reason stands for.
    pub(crate) fn complete(&mut self, observer: &mut Observer<'_>) -> Result<Reply, Error> {
        self.text.end_segment(observer)?;
        self.blocks.drop_repeated_calls();
        observer.add_usage(self.usage.counts());
        if observer.raw.is_some() {
            wire_capture::capture_response(observer, &self.assembled().to_string());
        }
        let is_truncated = match self.stop_reason.as_deref() {
            Some("refusal" | "content_filtered" | "guardrail_intervened") => {
                return Err(Error::ContentFiltered);
            }
            Some("malformed_model_output" | "malformed_tool_use") => return Err(Error::Malformed),
            // The API paused or compacted a long reply, which ends here: no request continues it.
            Some("max_tokens" | "model_context_window_exceeded" | "pause_turn" | "compaction") => true,
            _ => false,
        };
        if is_truncated && self.text.is_blank() {
            let overflows = self.stop_reason.as_deref() == Some("model_context_window_exceeded");
            return Err(if overflows { Error::ContextTooLong } else { Error::Incomplete });
        }
        let received: Vec<ReceivedCall> =
            if is_truncated { Vec::new() } else { self.blocks.calls().collect() };
        let ToolCalls { calls, has_unmatched: _ } = ToolCalls::collect(&received, self.nonce)?;
        let text_parts = self.blocks.text_parts(&self.text.segments);
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
            text_parts,
        })
    }

    /// Assembles the message for a capture.
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
