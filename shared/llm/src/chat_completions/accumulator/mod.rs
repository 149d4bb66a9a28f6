//! Accumulates the chunks of a stream into one reply.
//!
//! Pure. A stream is complete with its `[DONE]`, or at its end after a chunk with a finish reason. The usage comes with
//! the last chunk. A refusal counts as text.

mod calls;

use agent::model::{Error, Observer, Reasoning, Reply};
use serde_json::{Value, json};

use crate::accumulator::{Accumulate, MAX_TEXT, Progress, ReplyText};
use crate::chat_completions::builder::{REASONING_MEMBERS, THOUGHT_SIGNATURE};
use crate::chat_completions::chunk::Chunk;
use crate::error_object::ErrorObject;
use crate::tool_calls::ToolCalls;
use crate::usage::Usage;
use crate::{failure, json, wire_capture};

use calls::CallPieces;

/// The place of the reasoning.
const REASONING: (u32, u32) = (0, 0);

/// The places of text and refusal, which are separate segments.
const TEXT: (u32, u32) = (0, 0);
const REFUSAL: (u32, u32) = (0, 1);

/// The state of a reply under construction.
#[derive(Debug, Default)]
pub struct Accumulator {
    /// Makes the ids that are generated here unique across replies.
    nonce: u64,
    text: ReplyText,
    /// The reasoning, and the name of its member.
    reasoning: Option<(&'static str, String)>,
    calls: CallPieces,
    id: Option<String>,
    model: Option<String>,
    finish_reason: Option<String>,
    /// The newest usage, which counts the whole reply.
    usage: Usage,
    /// The error that a chunk reported.
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
        match data.trim() {
            "" => return Ok(Progress::Pending),
            "[DONE]" => return self.complete(observer).map(Progress::Complete),
            _ => {}
        }
        let Some(members) = json::parse_object(data) else {
            // Words that keep a connection alive aren't needed, and neither is anything after the end. A chunk is.
            let is_needed = data.trim_start().starts_with(['{', '[']) && self.finish_reason.is_none();
            return if is_needed { Err(Error::Malformed) } else { Ok(Progress::Pending) };
        };
        let mut chunk = Chunk::read(kind, members, &REASONING_MEMBERS);
        if let Some(error) = chunk.error {
            observer.add_partial_usage(self.usage.counts);
            wire_capture::capture_response(observer, data);
            return Err(self.fail(error));
        }
        self.id = chunk.id.or(self.id.take());
        self.model = chunk.model.or(self.model.take());
        if let Some(counts) = chunk.usage.counts {
            self.usage = chunk.usage;
            observer.meter.tell(counts);
        }
        if chunk.is_whole && self.has_output() {
            // The end of a stream, which repeats the whole completion.
            let rest = chunk.content.strip_prefix(self.text.emitted.as_str()).unwrap_or_default();
            chunk.content = rest.to_owned();
            chunk.refusal.retain(|_| self.text.emitted.is_empty());
            chunk.reasoning = chunk.reasoning.filter(|_| self.reasoning.is_none());
        }
        self.text.push(TEXT, &chunk.content, observer)?;
        self.text.push(REFUSAL, &chunk.refusal, observer)?;
        if let Some((member, piece)) = chunk.reasoning {
            self.text.push_reasoning(REASONING, &piece, observer);
            self.push_reasoning(member, &piece)?;
        }
        for piece in chunk.calls {
            self.text.mark_piece(piece.name.as_deref().unwrap_or_default(), observer);
            self.text.mark_piece(&piece.arguments, observer);
            self.calls.push(piece)?;
        }
        self.finish_reason = chunk.finish_reason.or(self.finish_reason.take());
        Ok(Progress::Pending)
    }

    fn finish(&mut self, observer: &mut Observer<'_>) -> Result<Reply, Error> {
        if self.finish_reason.is_none() {
            observer.add_partial_usage(self.usage.counts);
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
    fn push_reasoning(&mut self, member: &'static str, piece: &str) -> Result<(), Error> {
        let (_, reasoning) = self.reasoning.get_or_insert_with(|| (member, String::new()));
        if reasoning.len().saturating_add(piece.len()) > MAX_TEXT {
            return Err(Error::Malformed);
        }
        reasoning.push_str(piece);
        Ok(())
    }

    fn fail(&mut self, error: ErrorObject) -> Error {
        let classified = failure::classify_failed(Some(&error));
        self.error = Some(error);
        classified
    }

    /// Returns the reply. Unless the reply is complete, its calls are dropped.
    fn complete(&mut self, observer: &mut Observer<'_>) -> Result<Reply, Error> {
        self.text.end_segment(observer)?;
        observer.add_usage(self.usage.counts);
        if observer.raw.is_some() {
            wire_capture::capture_response(observer, &self.assembled().to_string());
        }
        let is_truncated = match self.finish_reason.as_deref() {
            Some("content_filter") => return Err(failure::classify_incomplete(Some("content_filter"))),
            // Of gateways, if the provider behind them fails.
            Some("error") => return Err(Error::UNAVAILABLE),
            Some("length") => true,
            _ => false,
        };
        if is_truncated && self.text.is_blank() {
            return Err(Error::Incomplete);
        }
        let received = if is_truncated { Vec::new() } else { self.calls.received() };
        let ToolCalls { calls, has_unmatched: _ } = ToolCalls::collect(&received, self.nonce)?;
        let reasoning = if is_truncated { Vec::new() } else { self.reasoning_items() };
        Ok(Reply {
            is_stored: false,
            response_id: self.id.take().unwrap_or_else(|| format!("unnamed_{:016x}", self.nonce)),
            model: self.model.take().unwrap_or_default(),
            text: self.text.take(),
            calls,
            is_truncated,
            replaces_stream: false,
            reasoning,
            hosted: Vec::new(),
            text_parts: Vec::new(),
        })
    }

    /// Returns the reasoning to send back with the calls: the text, and the signature of each call.
    fn reasoning_items(&mut self) -> Vec<Reasoning> {
        let item = |calls_before: usize, id: &str, encrypted: String| Reasoning {
            calls_before,
            id: id.to_owned(),
            summary: Vec::new(),
            encrypted,
        };
        let text = self.reasoning.take();
        let text = text.map(|(member, text)| item(0, member, json::whole_characters(&text).into_owned()));
        let signatures = self.calls.signatures().into_iter();
        let signatures = signatures.map(|(calls_before, text)| item(calls_before, THOUGHT_SIGNATURE, text));
        text.into_iter().chain(signatures).collect()
    }

    /// Assembles the completion as a server without streaming would send it.
    fn assembled(&self) -> Value {
        let calls: Vec<Value> = self
            .calls
            .received()
            .iter()
            .map(|call| {
                json!({
                    "id": call.call_id, "type": "function",
                    "function": { "name": call.name, "arguments": call.arguments },
                })
            })
            .collect();
        let mut message = json!({ "role": "assistant", "content": self.text.emitted, "tool_calls": calls });
        if let (Some((member, text)), Some(members)) = (&self.reasoning, message.as_object_mut()) {
            members.insert((*member).to_owned(), text.as_str().into());
        }
        let usage = self.usage.counts.map(|usage| {
            json!({
                "prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens,
                "total_tokens": usage.total_tokens,
            })
        });
        json!({
            "id": self.id, "object": "chat.completion", "model": self.model,
            "choices": [{ "index": 0, "message": message, "finish_reason": self.finish_reason }],
            "usage": usage,
        })
    }
}

#[cfg(test)]
mod tests;
