//! From a reply to frames.

use std::time::Duration;

use serde_json::{Value, json};

use super::frame;
use crate::thinking::sign;
use mock_model::deviations::Deviation;
use mock_model::echo;
use mock_model::id::Issued;
use mock_model::plan::{Counts, Events, Plan, counts, deltas};
use mock_model::reply::{End, Reply, Step};
use mock_model::request::ModelRequest;

/// The padding of events, which AWS adds in a random length.
const PADDING: &str = "abcdefghijklm";

/// Lays out the reply. The API has no response without a stream.
pub(super) fn lay_out(asked: &ModelRequest, reply: &Reply, issued: Issued) -> Plan {
    let mut writer = Writer {
        asked,
        reply,
        issued,
        events: Events::bare(),
        pace: Duration::ZERO,
        chunk: None,
        output: Vec::new(),
        text: None,
        calls: 0,
        refused: false,
    };
    writer.push("messageStart", json!({ "role": "assistant", "p": PADDING }));
    reply.steps.iter().for_each(|step| writer.step(step));
    let says_nothing = writer.text.is_none() && writer.output.iter().all(|block| block.get("text").is_none());
    if says_nothing && writer.calls == 0 && reply.end == End::Complete && !reply.has(&Deviation::Nothing) {
        writer.say(&echo::answer(asked));
    }
    writer.close();
    writer.end()
}

struct Writer<'a> {
    asked: &'a ModelRequest,
    reply: &'a Reply,
    issued: Issued,
    events: Events,
    pace: Duration,
    chunk: Option<usize>,
    /// The finished blocks.
    output: Vec<Value>,
    /// The text of the open block.
    text: Option<String>,
    calls: u8,
    refused: bool,
}

impl Writer<'_> {
    fn step(&mut self, step: &Step) {
        match step {
            Step::Say(text) => self.say(text),
            Step::Echo => self.say(&echo::answer(self.asked)),
            Step::Refuse(text) => {
                self.say(text);
                self.refused = true;
            }
            Step::Think(text) => self.think(text),
            Step::Call { name, arguments } => self.call(name, arguments),
            Step::Pace(pace) => self.pace = *pace,
            Step::Chunk(characters) => self.chunk = Some(*characters),
            // The other wires have no phases.
            Step::Phase(_) => {}
            Step::Hang(pause) => self.events.pause(*pause),
            Step::Malformed => self.events.raw(frame::damaged()),
            Step::UnknownEvent => self.push("novelty", json!({ "depth": 1 })),
            // Tools of its own are not offered.
            Step::Hosted { .. } | Step::Cite(_) => {}
        }
    }

    /// Adds text. A block of text has no start.
    fn say(&mut self, text: &str) {
        for delta in deltas(text, self.chunk) {
            self.events.pause(self.pace);
            self.delta(json!({ "text": delta }));
        }
        self.text.get_or_insert_default().push_str(text);
    }

    /// Adds reasoning. Its block has no start either.
    fn think(&mut self, text: &str) {
        self.close();
        for delta in deltas(text, self.chunk) {
            self.events.pause(self.pace);
            self.delta(json!({ "reasoningContent": { "text": delta } }));
        }
        self.delta(json!({ "reasoningContent": { "signature": sign(text) } }));
        self.stop(json!({ "reasoning": text }));
    }

    fn call(&mut self, name: &str, arguments: &Value) {
        self.close();
        let id = self.call_id();
        self.calls = self.calls.saturating_add(1);
        let start = json!({ "toolUse": { "toolUseId": id, "name": name } });
        let index = self.output.len();
        self.push("contentBlockStart", json!({ "contentBlockIndex": index, "start": start, "p": PADDING }));
        for piece in deltas(&arguments.to_string(), Some(self.chunk.unwrap_or(8))) {
            self.events.pause(self.pace);
            self.delta(json!({ "toolUse": { "input": piece } }));
        }
        self.stop(json!({ "call": name, "input": arguments }));
    }

    fn call_id(&self) -> String {
        if self.reply.has(&Deviation::NoCallId) {
            return String::new();
        }
        let is_same = self.reply.has(&Deviation::SameCallId);
        if is_same { "tooluse_same".to_owned() } else { self.issued.call(self.calls) }
    }

    fn delta(&mut self, delta: Value) {
        let index = self.output.len();
        self.push("contentBlockDelta", json!({ "contentBlockIndex": index, "delta": delta, "p": PADDING }));
    }

    fn stop(&mut self, block: Value) {
        self.push("contentBlockStop", json!({ "contentBlockIndex": self.output.len(), "p": PADDING }));
        self.output.push(block);
    }

    /// Finishes the open text.
    fn close(&mut self) {
        if let Some(text) = self.text.take() {
            self.stop(json!({ "text": text }));
        }
    }

    fn push(&mut self, kind: &str, payload: Value) {
        self.events.raw(frame::event(kind, &payload));
    }

    fn end(mut self) -> Plan {
        let stop_reason = match &self.reply.end {
            End::Incomplete(reason) if reason == "max_output_tokens" => "max_tokens",
            End::Incomplete(reason) if reason == "content_filter" => "content_filtered",
            End::Incomplete(reason) => reason.as_str(),
            _ if self.refused && self.asked.body.contains_key("guardrailConfig") => "guardrail_intervened",
            _ if self.refused => "content_filtered",
            _ if self.calls > 0 => "tool_use",
            _ => "end_turn",
        };
        match &self.reply.end {
            End::Missing => {}
            End::Fail(code) | End::Error(code) => {
                let message = json!({ "message": "The script asked for an error." });
                self.events.raw(frame::exception(exception(code), &message));
            }
            End::Complete | End::Incomplete(_) => {
                self.push("messageStop", json!({ "stopReason": stop_reason, "p": PADDING }));
                if let Some(usage) = self.usage() {
                    let metrics = json!({ "latencyMs": 1 });
                    self.push("metadata", json!({ "usage": usage, "metrics": metrics, "p": PADDING }));
                }
            }
        }
        Plan { response: Value::Null, emissions: self.events.cut(self.reply.cut) }
    }

    /// Counts the tokens. The input that was read from or written to the cache is not part of the input.
    fn usage(&self) -> Option<Value> {
        let Counts { input, output, cached, written, reasoning: _ } =
            counts(self.asked, &json!(self.output), self.reply.usage)?;
        Some(json!({
            "inputTokens": input.saturating_sub(cached).saturating_sub(written), "outputTokens": output,
            "totalTokens": input.saturating_add(output), "cacheReadInputTokens": cached,
            "cacheWriteInputTokens": written,
        }))
    }
}

/// Returns the exception of a stream for an error of a script.
fn exception(code: &str) -> &str {
    match code {
        "rate_limit_error" | "rate_limit_exceeded" => "throttlingException",
        "server_error" => "internalServerException",
        "overloaded_error" => "serviceUnavailableException",
        code => code,
    }
}
