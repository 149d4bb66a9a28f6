//! From a reply to chunks, and to the completion without streaming.

use std::time::Duration;

use serde_json::{Value, json};

use mock_model::deviations::Deviation;
use mock_model::echo;
use mock_model::id::Issued;
use mock_model::plan::{Counts, Events, Plan, counts, deltas};
use mock_model::reply::{End, Reply, Step};
use mock_model::request::ModelRequest;
use mock_model::wire::now;

/// Lays out the reply.
pub(super) fn lay_out(asked: &ModelRequest, reply: &Reply, issued: Issued) -> Plan {
    let id = match reply.has(&Deviation::NoId) {
        true => Value::Null,
        false => json!(issued.response().replacen("resp_", "chatcmpl-", 1)),
    };
    let named = reply.deviations.iter().find_map(|deviation| match deviation {
        Deviation::As(name) => Some(name.as_str()),
        _ => None,
    });
    let mut writer = Writer {
        asked,
        reply,
        issued,
        head: json!({ "id": id, "created": now(), "model": named.unwrap_or(&asked.model) }),
        events: Events::bare(),
        pace: Duration::ZERO,
        chunk: None,
        content: String::new(),
        refusal: String::new(),
        reasoning: String::new(),
        calls: Vec::new(),
        signed: false,
    };
    writer.delta(json!({ "role": "assistant", "content": "" }));
    reply.steps.iter().for_each(|step| writer.step(step));
    let says_nothing = writer.content.is_empty() && writer.refusal.is_empty() && writer.calls.is_empty();
    if says_nothing && reply.end == End::Complete && !reply.has(&Deviation::Nothing) {
        writer.text(&echo::answer(asked));
    }
    writer.end()
}

struct Writer<'a> {
    asked: &'a ModelRequest,
    reply: &'a Reply,
    issued: Issued,
    /// Members of every chunk.
    head: Value,
    events: Events,
    pace: Duration,
    chunk: Option<usize>,
    content: String,
    refusal: String,
    reasoning: String,
    calls: Vec<Value>,
    /// True if the next call has a signature of the thoughts before it.
    signed: bool,
}

impl Writer<'_> {
    fn step(&mut self, step: &Step) {
        match step {
            Step::Say(text) => self.text(text),
            Step::Echo => self.text(&echo::answer(self.asked)),
            Step::Refuse(text) => {
                for delta in deltas(text, self.chunk) {
                    self.events.pause(self.pace);
                    self.delta(json!({ "refusal": delta }));
                }
                self.refusal.push_str(text);
            }
            Step::Think(text) => self.think(text),
            Step::Call { name, arguments } => self.call(name, &arguments.to_string()),
            Step::Pace(pace) => self.pace = *pace,
            Step::Chunk(characters) => self.chunk = Some(*characters),
            // The other wires have no phases.
            Step::Phase(_) => {}
            Step::Hang(pause) => self.events.pause(*pause),
            Step::Malformed => self.events.raw("data: {\"choices\":[{\"del\n\n"),
            Step::UnknownEvent => self.events.data(&json!({ "object": "novelty", "choices": [] })),
            // Tools of its own, which the API doesn't have.
            Step::Hosted { .. } | Step::Cite(_) => {}
        }
    }

    fn text(&mut self, text: &str) {
        for delta in deltas(text, self.chunk) {
            self.events.pause(self.pace);
            self.delta(json!({ "content": delta }));
        }
        self.content.push_str(text);
    }

    /// Google's models sign the call that follows; others return the thoughts.
    fn think(&mut self, text: &str) {
        if self.asked.model.contains("gemini") {
            self.signed = true;
            return;
        }
        for delta in deltas(text, self.chunk) {
            self.events.pause(self.pace);
            self.delta(json!({ "reasoning_content": delta }));
        }
        self.reasoning.push_str(text);
    }

    fn call(&mut self, name: &str, arguments: &str) {
        let index = self.calls.len();
        let id = self.call_id(u8::try_from(index).unwrap_or(u8::MAX));
        let mut call = json!({
            "index": index, "id": id, "type": "function", "function": { "name": name, "arguments": "" },
        });
        if std::mem::take(&mut self.signed)
            && let Some(members) = call.as_object_mut()
        {
            let signature = format!("scripted_signature_{index}");
            members
                .insert("extra_content".to_owned(), json!({ "google": { "thought_signature": signature } }));
        }
        self.delta(json!({ "tool_calls": [call] }));
        for piece in deltas(arguments, Some(self.chunk.unwrap_or(8))) {
            self.events.pause(self.pace);
            self.delta(json!({ "tool_calls": [{ "index": index, "function": { "arguments": piece } }] }));
        }
        self.calls.push(json!({
            "id": id, "type": "function", "function": { "name": name, "arguments": arguments },
        }));
    }

    fn call_id(&self, index: u8) -> Value {
        if self.reply.has(&Deviation::NoCallId) {
            return Value::Null;
        }
        let id = self.issued.call(index);
        json!(match () {
            () if self.reply.has(&Deviation::SameCallId) => "call_same".to_owned(),
            () if self.reply.has(&Deviation::SignedCallId) => {
                format!("{id}__thought__{}==", "Ab+/".repeat(1_150))
            }
            () if self.asked.model.contains("mistral") => id.chars().rev().take(9).collect(),
            () => id,
        })
    }

    fn delta(&mut self, delta: Value) {
        let choice = json!([{ "index": 0, "delta": delta, "finish_reason": null }]);
        self.push(choice, Value::Null);
    }

    fn push(&mut self, choices: Value, usage: Value) {
        let mut chunk = self.head.clone();
        if let Some(members) = chunk.as_object_mut() {
            members.insert("object".to_owned(), json!("chat.completion.chunk"));
            members.insert("choices".to_owned(), choices);
            if self.asked.asks_for_usage() {
                members.insert("usage".to_owned(), usage);
            }
        }
        self.events.data(&chunk);
    }

    fn end(mut self) -> Plan {
        let finish_reason = match &self.reply.end {
            End::Incomplete(reason) if reason == "max_output_tokens" => "length",
            End::Incomplete(reason) => reason.as_str(),
            _ if !self.calls.is_empty() => "tool_calls",
            _ => "stop",
        };
        let usage = self.usage();
        let response = self.response(finish_reason, &usage);
        match &self.reply.end {
            End::Missing => {}
            End::Fail(code) | End::Error(code) => {
                let error =
                    json!({ "message": "The script asked for an error.", "type": code, "code": code });
                self.events.data(&json!({ "error": error }));
            }
            End::Complete | End::Incomplete(_) => {
                let choice = json!([{ "index": 0, "delta": {}, "finish_reason": finish_reason }]);
                self.push(choice, Value::Null);
                if self.asked.asks_for_usage() && !usage.is_null() {
                    self.push(json!([]), usage);
                }
                self.events.raw("data: [DONE]\n\n");
            }
        }
        Plan { response, emissions: self.events.cut(self.reply.cut) }
    }

    fn usage(&self) -> Value {
        let output = json!([self.content, self.refusal, self.reasoning, self.calls]);
        let Some(Counts { input, output, cached, written, reasoning }) =
            counts(self.asked, &output, self.reply.usage)
        else {
            return Value::Null;
        };
        json!({
            "prompt_tokens": input, "completion_tokens": output, "total_tokens": input.saturating_add(output),
            "prompt_tokens_details": { "cached_tokens": cached, "cache_write_tokens": written },
            "completion_tokens_details": { "reasoning_tokens": reasoning },
        })
    }

    fn response(&self, finish_reason: &str, usage: &Value) -> Value {
        let refusal = if self.refusal.is_empty() { Value::Null } else { json!(self.refusal) };
        let mut message = json!({ "role": "assistant", "content": self.content, "refusal": refusal });
        if let (Some(members), false) = (message.as_object_mut(), self.calls.is_empty()) {
            members.insert("tool_calls".to_owned(), json!(self.calls));
        }
        let mut response = self.head.clone();
        if let Some(members) = response.as_object_mut() {
            members.insert("object".to_owned(), json!("chat.completion"));
            let choice = json!([{ "index": 0, "message": message, "finish_reason": finish_reason }]);
            members.insert("choices".to_owned(), choice);
            members.insert("usage".to_owned(), usage.clone());
        }
        response
    }
}
