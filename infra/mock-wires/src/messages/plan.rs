//! From a reply to events, and to the message without streaming.

use std::time::Duration;

use serde_json::{Value, json};

use crate::thinking::sign;
use mock_model::deviations::Deviation;
use mock_model::echo;
use mock_model::id::Issued;
use mock_model::plan::{Counts, Events, Plan, counts, deltas};
use mock_model::reply::{End, Reply, Step};
use mock_model::request::ModelRequest;

/// Lays out the reply.
pub(super) fn lay_out(asked: &ModelRequest, reply: &Reply, issued: Issued) -> Plan {
    let id = match reply.has(&Deviation::NoId) {
        true => Value::Null,
        false => json!(issued.response().replacen("resp_", "msg_", 1)),
    };
    let named = reply.deviations.iter().find_map(|deviation| match deviation {
        Deviation::As(name) => Some(name.as_str()),
        _ => None,
    });
    let mut writer = Writer {
        asked,
        reply,
        issued,
        id,
        model: named.unwrap_or(&asked.model).to_owned(),
        events: Events::bare(),
        pace: Duration::ZERO,
        chunk: None,
        blocks: Vec::new(),
        text: None,
        calls: 0,
        refused: false,
    };
    writer.start();
    reply.steps.iter().for_each(|step| writer.step(step));
    let says_nothing = writer.text.is_none() && writer.blocks.iter().all(|block| is(block, "thinking"));
    if says_nothing && reply.end == End::Complete && !reply.has(&Deviation::Nothing) {
        writer.say(&echo::answer(asked));
    }
    writer.close();
    writer.end()
}

struct Writer<'a> {
    asked: &'a ModelRequest,
    reply: &'a Reply,
    issued: Issued,
    id: Value,
    model: String,
    events: Events,
    pace: Duration,
    chunk: Option<usize>,
    /// The finished blocks.
    blocks: Vec<Value>,
    /// The text of the open block.
    text: Option<String>,
    calls: u8,
    refused: bool,
}

impl Writer<'_> {
    fn start(&mut self) {
        let usage = self.usage(&json!([])).map(|usage| with(usage, "output_tokens", json!(1)));
        let message = self.message(Value::Null, usage.unwrap_or(Value::Null));
        self.events.push("message_start", [("message", message)]);
        self.events.push::<Value, 0>("ping", []);
    }

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
            Step::Malformed => self.events.raw("event: content_block_delta\ndata: {\"type\":\"content_b\n\n"),
            Step::UnknownEvent => self.events.push("novelty", [("depth", 1)]),
            // Tools of its own are not offered.
            Step::Hosted { .. } | Step::Cite(_) => {}
        }
    }

    fn say(&mut self, text: &str) {
        if self.text.is_none() {
            self.open(json!({ "type": "text", "text": "" }));
        }
        for delta in deltas(text, self.chunk) {
            self.events.pause(self.pace);
            self.delta(json!({ "type": "text_delta", "text": delta }));
        }
        self.text.get_or_insert_default().push_str(text);
    }

    fn think(&mut self, text: &str) {
        self.close();
        self.open(json!({ "type": "thinking", "thinking": "", "signature": "" }));
        for delta in deltas(text, self.chunk) {
            self.events.pause(self.pace);
            self.delta(json!({ "type": "thinking_delta", "thinking": delta }));
        }
        self.delta(json!({ "type": "signature_delta", "signature": sign(text) }));
        self.stop(json!({ "type": "thinking", "thinking": text, "signature": sign(text) }));
    }

    fn call(&mut self, name: &str, arguments: &Value) {
        self.close();
        let id = self.call_id();
        self.calls = self.calls.saturating_add(1);
        self.open(json!({ "type": "tool_use", "id": id, "name": name, "input": {} }));
        self.delta(json!({ "type": "input_json_delta", "partial_json": "" }));
        for piece in deltas(&arguments.to_string(), Some(self.chunk.unwrap_or(8))) {
            self.events.pause(self.pace);
            self.delta(json!({ "type": "input_json_delta", "partial_json": piece }));
        }
        self.stop(json!({ "type": "tool_use", "id": id, "name": name, "input": arguments }));
    }

    fn call_id(&self) -> Value {
        if self.reply.has(&Deviation::NoCallId) {
            return Value::Null;
        }
        let is_same = self.reply.has(&Deviation::SameCallId);
        json!(if is_same { "toolu_same".to_owned() } else { self.issued.call(self.calls) })
    }

    fn open(&mut self, block: Value) {
        let index = json!(self.blocks.len());
        self.events.push("content_block_start", [("index", index), ("content_block", block)]);
    }

    fn delta(&mut self, delta: Value) {
        let index = json!(self.blocks.len());
        self.events.push("content_block_delta", [("index", index), ("delta", delta)]);
    }

    fn stop(&mut self, block: Value) {
        self.events.push("content_block_stop", [("index", self.blocks.len())]);
        self.blocks.push(block);
    }

    /// Finishes the open text.
    fn close(&mut self) {
        if let Some(text) = self.text.take() {
            self.stop(json!({ "type": "text", "text": text }));
        }
    }

    fn end(mut self) -> Plan {
        let stop_reason = match &self.reply.end {
            End::Incomplete(reason) if reason == "max_output_tokens" => "max_tokens",
            End::Incomplete(reason) if reason == "content_filter" => "refusal",
            End::Incomplete(reason) => reason.as_str(),
            _ if self.refused => "refusal",
            _ if self.calls > 0 => "tool_use",
            _ => "end_turn",
        };
        let usage = self.usage(&json!(self.blocks)).unwrap_or(Value::Null);
        let response = self.message(json!(stop_reason), usage.clone());
        match &self.reply.end {
            End::Missing => {}
            End::Fail(code) | End::Error(code) => {
                let error = json!({ "type": code, "message": "The script asked for an error." });
                self.events.push("error", [("error", error)]);
            }
            End::Complete | End::Incomplete(_) => {
                let delta =
                    json!({ "stop_reason": stop_reason, "stop_sequence": null, "stop_details": null });
                self.events.push("message_delta", [("delta", delta), ("usage", usage)]);
                self.events.push::<Value, 0>("message_stop", []);
            }
        }
        Plan { response, emissions: self.events.cut(self.reply.cut) }
    }

    /// The message so far.
    fn message(&self, stop_reason: Value, usage: Value) -> Value {
        json!({
            "id": self.id, "type": "message", "role": "assistant", "model": self.model, "content": self.blocks,
            "stop_reason": stop_reason, "stop_sequence": null, "usage": usage,
        })
    }

    /// Counts the tokens. The input that was read from or written to the cache is not part of the input.
    fn usage(&self, output: &Value) -> Option<Value> {
        let Counts { input, output, cached, written, reasoning } =
            counts(self.asked, output, self.reply.usage)?;
        Some(json!({
            "input_tokens": input.saturating_sub(cached).saturating_sub(written),
            "cache_read_input_tokens": cached, "cache_creation_input_tokens": written, "output_tokens": output,
            "output_tokens_details": { "thinking_tokens": reasoning },
        }))
    }
}

fn with(mut value: Value, name: &str, member: Value) -> Value {
    if let Some(members) = value.as_object_mut() {
        members.insert(name.to_owned(), member);
    }
    value
}

fn is(block: &Value, kind: &str) -> bool {
    block.get("type").and_then(Value::as_str) == Some(kind)
}
