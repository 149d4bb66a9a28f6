//! The output items of a reply and the events that announce, fill and finish each.

use std::time::Duration;

use serde_json::{Value, json};

use super::events::Events;

use crate::deviations::Deviation;
use crate::echo;
use crate::id::{Issued, encrypted};
use crate::reply::{End, Reply, Step};
use crate::request::ModelRequest;

/// Writes the events of all items and gives the finished items.
pub(crate) fn write(asked: &ModelRequest, reply: &Reply, issued: Issued, events: &mut Events) -> Vec<Value> {
    let mut writer = Writer {
        issued,
        events,
        output: Vec::new(),
        open: None,
        phase: None,
        calls: 0,
        pace: Duration::ZERO,
        chunk: None,
        last_status: match reply.end {
            End::Complete | End::Missing => "completed",
            End::Fail(_) | End::Error(_) | End::Incomplete(_) => "incomplete",
        },
    };
    for step in &reply.steps {
        writer.step(asked, step);
    }
    let says_nothing = !reply
        .steps
        .iter()
        .any(|step| matches!(step, Step::Say(_) | Step::Echo | Step::Refuse(_) | Step::Call { .. }));
    if says_nothing && reply.end == End::Complete && !reply.has(&Deviation::Nothing) {
        writer.text(&echo::answer(asked));
    }
    writer.close(true);
    writer.output
}

/// A message that is being written.
struct Open {
    id: String,
    parts: Vec<Value>,
    /// The text of the last part, while it is one.
    text: Option<String>,
    /// Other members of the text's item.
    annotations: Vec<Value>,
    phase: Option<String>,
}

struct Writer<'a> {
    issued: Issued,
    events: &'a mut Events,
    output: Vec<Value>,
    open: Option<Open>,
    /// The phase of the next message.
    phase: Option<String>,
    calls: u8,
    pace: Duration,
    chunk: Option<usize>,
    last_status: &'static str,
}

impl Writer<'_> {
    fn step(&mut self, asked: &ModelRequest, step: &Step) {
        match step {
            Step::Say(text) => self.text(text),
            Step::Echo => self.text(&echo::answer(asked)),
            Step::Refuse(text) => self.refusal(text),
            Step::Phase(phase) => {
                self.close(false);
                self.phase = Some(phase.clone());
            }
            Step::Think(summary) => self.reasoning(asked, summary),
            Step::Hosted { kind, members } => self.hosted(kind, members),
            Step::Cite(annotation) => self.cite(annotation),
            Step::Call { name, arguments } => self.call(asked, name, arguments),
            Step::Pace(pace) => self.pace = *pace,
            Step::Chunk(characters) => self.chunk = Some(*characters),
            Step::Hang(pause) => self.events.pause(*pause),
            Step::Malformed => {
                self.events.raw("event: response.output_text.delta\ndata: {\"type\":\"respon\n\n")
            }
            Step::UnknownEvent => self.unknown(),
        }
    }

    fn text(&mut self, text: &str) {
        let index = self.output.len();
        let mut open = self.message();
        if open.text.is_none() {
            let part = json!({ "type": "output_text", "text": "", "annotations": [], "logprobs": [] });
            self.part("response.content_part.added", &open, part);
            open.text = Some(String::new());
        }
        for delta in deltas(text, self.chunk) {
            self.events.pause(self.pace);
            self.events.push(
                "response.output_text.delta",
                [
                    ("item_id", json!(open.id)),
                    ("output_index", json!(index)),
                    ("content_index", json!(open.parts.len())),
                    ("delta", json!(delta)),
                    ("logprobs", json!([])),
                ],
            );
        }
        if let Some(so_far) = &mut open.text {
            so_far.push_str(text);
        }
        self.open = Some(open);
    }

    fn refusal(&mut self, text: &str) {
        let index = self.output.len();
        let mut open = self.message();
        self.finish_text(&mut open);
        let content_index = open.parts.len();
        let place = |name: &'static str, value: &str| {
            [
                ("item_id", json!(open.id)),
                ("output_index", json!(index)),
                ("content_index", json!(content_index)),
                (name, json!(value)),
            ]
        };
        let part = |text: &str| json!({ "type": "refusal", "refusal": text });
        self.part("response.content_part.added", &open, part(""));
        for delta in deltas(text, self.chunk) {
            self.events.pause(self.pace);
            self.events.push("response.refusal.delta", place("delta", &delta));
        }
        self.events.push("response.refusal.done", place("refusal", text));
        self.part("response.content_part.done", &open, part(text));
        open.parts.push(part(text));
        self.open = Some(open);
    }

    /// Writes a call of a function, or of a freeform tool with the argument `input`.
    fn call(&mut self, asked: &ModelRequest, name: &str, arguments: &Value) {
        self.close(false);
        let index = self.output.len();
        let is_freeform = asked.has_freeform_tool(name);
        let (kind, member, events) = match is_freeform {
            true => ("custom_tool_call", "input", "response.custom_tool_call_input"),
            false => ("function_call", "arguments", "response.function_call_arguments"),
        };
        let content = match is_freeform {
            true => arguments.get("input").and_then(Value::as_str).unwrap_or_default().to_owned(),
            false => arguments.to_string(),
        };
        let id = self.issued.item(if is_freeform { "ctc" } else { "fc" }, index);
        let call_id = self.issued.call(self.calls);
        self.calls = self.calls.saturating_add(1);
        let item = |status: &str, content: &str| {
            let mut item =
                json!({"type": kind, "id": id, "call_id": call_id, "name": name, "status": status});
            if let Value::Object(members) = &mut item {
                members.insert(member.to_owned(), json!(content));
            }
            item
        };
        self.item("response.output_item.added", item("in_progress", ""));
        for delta in deltas(&content, Some(self.chunk.unwrap_or(8))) {
            self.events.pause(self.pace);
            self.events.push(
                &format!("{events}.delta"),
                [("item_id", json!(id)), ("output_index", json!(index)), ("delta", json!(delta))],
            );
        }
        let place = [("item_id", json!(id)), ("output_index", json!(index)), (member, json!(content))];
        let [item_id, output_index, whole] = place.clone();
        match is_freeform {
            true => self.events.push(&format!("{events}.done"), place),
            false => {
                let named = [item_id, output_index, whole, ("name", json!(name))];
                self.events.push(&format!("{events}.done"), named);
            }
        }
        let item = item("completed", &content);
        self.item("response.output_item.done", item.clone());
        self.output.push(item);
    }

    fn reasoning(&mut self, asked: &ModelRequest, summary: &str) {
        self.close(false);
        let index = self.output.len();
        let id = self.issued.item("rs", index);
        let item = |summary: Value| match asked.includes("reasoning.encrypted_content") {
            true => json!({
                "type": "reasoning", "id": id, "summary": summary, "encrypted_content": encrypted(&id),
            }),
            false => json!({ "type": "reasoning", "id": id, "summary": summary }),
        };
        self.item("response.output_item.added", item(json!([])));
        let part = |text: &str| json!({ "type": "summary_text", "text": text });
        let place = |name: &'static str, value: Value| {
            [
                ("item_id", json!(id)),
                ("output_index", json!(index)),
                ("summary_index", json!(0)),
                (name, value),
            ]
        };
        self.events.push("response.reasoning_summary_part.added", place("part", part("")));
        for delta in deltas(summary, self.chunk) {
            self.events.pause(self.pace);
            self.events.push("response.reasoning_summary_text.delta", place("delta", json!(delta)));
        }
        self.events.push("response.reasoning_summary_text.done", place("text", json!(summary)));
        self.events.push("response.reasoning_summary_part.done", place("part", part(summary)));
        let item = item(json!([part(summary)]));
        self.item("response.output_item.done", item.clone());
        self.output.push(item);
    }

    fn hosted(&mut self, kind: &str, members: &Value) {
        self.close(false);
        let index = self.output.len();
        let id = self.issued.item("hosted", index);
        let item = |status: &str| {
            let mut item = members.as_object().cloned().unwrap_or_default();
            item.extend([("type".to_owned(), json!(kind)), ("id".to_owned(), json!(id))]);
            // A list of tools has none.
            if kind != "mcp_list_tools" {
                item.insert("status".to_owned(), json!(status));
            }
            Value::Object(item)
        };
        self.item("response.output_item.added", item("in_progress"));
        let done = format!("response.{kind}.completed");
        self.events.push(&done, [("item_id", json!(id)), ("output_index", json!(index))]);
        let item = item("completed");
        self.item("response.output_item.done", item.clone());
        self.output.push(item);
    }

    fn cite(&mut self, annotation: &Value) {
        let index = self.output.len();
        let Some(open) = &mut self.open else { return };
        self.events.push(
            "response.output_text.annotation.added",
            [
                ("item_id", json!(open.id)),
                ("output_index", json!(index)),
                ("content_index", json!(open.parts.len())),
                ("annotation_index", json!(open.annotations.len())),
                ("annotation", annotation.clone()),
            ],
        );
        open.annotations.push(annotation.clone());
    }

    fn unknown(&mut self) {
        self.close(false);
        self.events.push("response.novelty.appeared", [("novelty", json!({ "depth": 1 }))]);
        let id = self.issued.item("nov", self.output.len());
        let item = json!({ "type": "novelty", "id": id, "status": "completed" });
        self.item("response.output_item.added", item.clone());
        self.item("response.output_item.done", item.clone());
        self.output.push(item);
    }

    /// The open message, or a new one.
    fn message(&mut self) -> Open {
        if let Some(open) = self.open.take() {
            return open;
        }
        let id = self.issued.item("msg", self.output.len());
        let phase = self.phase.take();
        let open = Open { id, parts: Vec::new(), text: None, annotations: Vec::new(), phase };
        self.item("response.output_item.added", message(&open, "in_progress"));
        open
    }

    fn finish_text(&mut self, open: &mut Open) {
        let Some(text) = open.text.take() else {
            return;
        };
        self.events.push(
            "response.output_text.done",
            [
                ("item_id", json!(open.id)),
                ("output_index", json!(self.output.len())),
                ("content_index", json!(open.parts.len())),
                ("text", json!(text)),
                ("logprobs", json!([])),
            ],
        );
        let annotations = std::mem::take(&mut open.annotations);
        let part = json!({ "type": "output_text", "text": text, "annotations": annotations, "logprobs": [] });
        self.part("response.content_part.done", open, part.clone());
        open.parts.push(part);
    }

    /// Finishes the open message; the last one of a reply that breaks off is not complete.
    fn close(&mut self, last: bool) {
        let Some(mut open) = self.open.take() else {
            return;
        };
        self.finish_text(&mut open);
        let status = if last { self.last_status } else { "completed" };
        let item = message(&open, status);
        self.item("response.output_item.done", item.clone());
        self.output.push(item);
    }

    fn item(&mut self, kind: &str, item: Value) {
        let index = json!(self.output.len());
        self.events.push(kind, [("output_index", index), ("item", item)]);
    }

    fn part(&mut self, kind: &str, open: &Open, part: Value) {
        self.events.push(
            kind,
            [
                ("item_id", json!(open.id)),
                ("output_index", json!(self.output.len())),
                ("content_index", json!(open.parts.len())),
                ("part", part),
            ],
        );
    }
}

fn message(open: &Open, status: &str) -> Value {
    let mut message = json!({
        "type": "message", "id": open.id, "role": "assistant", "status": status,
        "content": open.parts,
    });
    if let (Some(phase), Value::Object(members)) = (&open.phase, &mut message) {
        members.insert("phase".to_owned(), json!(phase));
    }
    message
}

/// Splits a text as it is streamed: by words, or by so many characters.
pub fn deltas(text: &str, chunk: Option<usize>) -> Vec<String> {
    match chunk {
        None => text.split_inclusive(' ').map(str::to_owned).collect(),
        Some(characters) => {
            let characters_of_text: Vec<char> = text.chars().collect();
            characters_of_text.chunks(characters.max(1)).map(|chunk| chunk.iter().collect()).collect()
        }
    }
}
