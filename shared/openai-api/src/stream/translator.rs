//! Translates a turn's stream into the events of a response.

use contracts::stream::{Event, EventId, Kind, Reasoning, ResetReason};
use serde_json::{Value, json};

use super::StreamEvent;
use crate::json_object::set;
use crate::{
    response::{COMMENTARY, FINAL_ANSWER, Frame, Outcome, Status, cited_part, part, summary},
    sequence::{self, Position, Step},
};

/// The events of a function's arguments: a piece, and the whole.
const FUNCTION_ARGUMENTS: [&str; 2] =
    ["response.function_call_arguments.delta", "response.function_call_arguments.done"];
/// The events of a freeform tool's input.
const FREEFORM_INPUT: [&str; 2] =
    ["response.custom_tool_call_input.delta", "response.custom_tool_call_input.done"];

/// A translator of one response's stream, as one connection reads it.
///
/// A reset of the turn's stream ends the message as incomplete, since this protocol can't withdraw text. The next text
/// is the next output item.
#[derive(Debug)]
pub struct Translator {
    frame: Frame,
    /// The number after which the client wants events.
    after: Option<u64>,
    /// The end of the text so far.
    position: Position,
    /// True if the client has text.
    has_text: bool,
    /// The text of the open message, as far as this connection knows it.
    text: String,
    is_open: bool,
    /// The open reasoning, if an item of it is open.
    reasoning: Option<OpenReasoning>,
    /// The phase of the open message, if the turn's stream discarded it.
    discarded: Option<Option<&'static str>>,
    is_finished: bool,
}

impl Translator {
    /// Creates a translator for a client that has the events up to the number `after`.
    #[must_use]
    pub fn new(frame: Frame, after: Option<u64>) -> Self {
        let known = after.filter(|after| *after > sequence::IN_PROGRESS && !is_after_text(*after));
        let first = Position { index: frame.first_index(), ..Position::default() };
        let known = known.map(Position::of_number).filter(|known| known.index >= first.index);
        // No connection has the reasoning again: the text follows it.
        let reasoning = known.filter(|known| known.is_reasoning()).map(|known| OpenReasoning {
            at: known,
            text: String::new(),
            is_partial: true,
        });
        let text = known.filter(|known| !known.is_reasoning());
        let before = text.or_else(|| known.and_then(Position::text_before));
        Self {
            frame,
            after,
            position: before.unwrap_or(first),
            has_text: before.is_some(),
            text: String::new(),
            is_open: text.is_some(),
            reasoning,
            discarded: None,
            is_finished: false,
        }
    }

    /// Returns the turn's event after which its stream has to continue, for a client that has some of the text.
    #[must_use]
    pub fn last_event(&self) -> Option<EventId> {
        self.has_text.then(|| self.position.event(self.frame.id.round)).flatten()
    }

    /// True if the last event was returned, or the client has it.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.is_finished || self.after.is_some_and(|after| after >= sequence::LAST)
    }

    /// Returns the events before any text.
    pub fn start(&mut self) -> Vec<StreamEvent> {
        let response = self.frame.in_progress();
        let mut events = vec![
            StreamEvent::new("response.created", sequence::CREATED, json!({"response": response})),
            StreamEvent::new("response.in_progress", sequence::IN_PROGRESS, json!({"response": response})),
        ];
        events.extend(self.search());
        // A client may have lost the connection between the two events that open a message.
        events.extend((self.is_open && self.position.offset == 0).then(|| self.part_added()));
        self.wanted(events)
    }

    /// Returns the events of the search in vector stores. It has been run when a stream begins; the last event of the
    /// response has its results.
    fn search(&self) -> Vec<StreamEvent> {
        let Some(item) = self.frame.search_item("in_progress") else { return Vec::new() };
        let of_item = json!({"output_index": 0, "item_id": item.get("id")});
        let done = json!({"output_index": 0, "item": self.frame.search_item("completed")});
        let (begin, end) = (Position::default(), Position { offset: 1, ..Position::default() });
        let event = |name: &'static str, number, data: &Value| StreamEvent::new(name, number, data.clone());
        vec![
            event(
                "response.output_item.added",
                begin.number(Step::Third),
                &json!({"output_index": 0, "item": item}),
            ),
            event("response.file_search_call.in_progress", begin.number(Step::Fourth), &of_item),
            event("response.file_search_call.searching", end.number(Step::First), &of_item),
            event("response.file_search_call.completed", end.number(Step::Second), &of_item),
            event("response.output_item.done", end.number(Step::Third), &done),
        ]
    }

    /// Reads what the outcome needs: the files that a search in vector stores found.
    pub async fn load(&mut self, event: Option<&Event>) {
        if event.is_none_or(|event| matches!(event.kind, Kind::Result(_))) {
            self.frame.load_search().await;
        }
    }

    /// Translates an event of the turn.
    pub fn event(&mut self, event: &Event) -> Vec<StreamEvent> {
        match (&event.kind, event.id) {
            (Kind::Delta(delta), Some(id)) => self.delta(&delta.text, id),
            (Kind::Reset(reset), _) => {
                let is_commentary = reset.reason == Some(ResetReason::Tools);
                self.discarded = self.is_open.then_some(is_commentary.then_some(COMMENTARY));
                Vec::new()
            }
            (Kind::Reasoning(piece), _) => self.reasoning(piece),
            (Kind::Result(body), _) => self.finish(&Outcome::from_body(body.get().as_bytes())),
            (Kind::Delta(_) | Kind::Status(_), _) => Vec::new(),
        }
    }

    /// Returns the remaining events of a response with this outcome.
    pub fn finish(&mut self, outcome: &Outcome) -> Vec<StreamEvent> {
        if self.is_finished() {
            return Vec::new();
        }
        self.is_finished = true;
        let mut events = self.close_reasoning();
        let outcome = match outcome {
            Outcome::Answer { text, .. } => {
                // Text that was discarded at the end isn't the answer's.
                if let Some(phase) = self.discarded.filter(|_| self.text != *text) {
                    events.extend(self.close("incomplete", phase));
                }
                events.extend(self.complete(text, outcome.status(), FINAL_ANSWER));
                outcome.clone()
            }
            Outcome::Calls { text, calls } => {
                events.extend(self.complete(text, Status::Completed, COMMENTARY));
                let known = self.after.map(Position::of_number).filter(|known| known.is_call());
                let first = known.map_or(self.position.index, |known| known.offset);
                for (n, call) in calls.iter().enumerate() {
                    let index = first.saturating_add(u64::try_from(n).unwrap_or_default());
                    let at = Position::of_call(index, first);
                    let tool = self.frame.called_tool(call);
                    let content = &tool.content(&call.arguments_json);
                    let item = |status, content| json!({"output_index": index, "item": self.frame.call(n, tool, status, content)});
                    let [piece, whole] = if tool.is_freeform { FREEFORM_INPUT } else { FUNCTION_ARGUMENTS };
                    let of_item = |name: &str, more: &str| {
                        let mut data = json!({"output_index": index, "item_id": self.frame.id.call(n)});
                        set(&mut data, name, json!(more));
                        data
                    };
                    let mut done = of_item(if tool.is_freeform { "input" } else { "arguments" }, content);
                    if !tool.is_freeform {
                        tool.write(&mut done, content);
                    }
                    events.extend([
                        StreamEvent::new(
                            "response.output_item.added",
                            at.number(Step::First),
                            item("in_progress", ""),
                        ),
                        StreamEvent::new(piece, at.number(Step::Second), of_item("delta", content)),
                        StreamEvent::new(whole, at.number(Step::Third), done),
                        StreamEvent::new(
                            "response.output_item.done",
                            at.number(Step::Fourth),
                            item("completed", content),
                        ),
                    ]);
                }
                outcome.clone()
            }
            Outcome::Failed { error, text } => {
                let text = if text.is_empty() { self.text.clone() } else { text.clone() };
                events.extend(self.close("incomplete", None));
                Outcome::Failed { error: error.clone(), text }
            }
        };
        let kind = match outcome.status() {
            Status::Completed | Status::InProgress => "response.completed",
            Status::Incomplete => "response.incomplete",
            Status::Cancelled | Status::Failed => "response.failed",
        };
        let response = self.frame.with_outcome(&outcome);
        events.push(StreamEvent::new(kind, sequence::LAST, json!({"response": response})));
        self.wanted(events)
    }

    fn delta(&mut self, text: &str, id: EventId) -> Vec<StreamEvent> {
        let mut events = self.close_discarded();
        events.extend(self.close_reasoning());
        let end = Position::of_event(id, self.position.index);
        if !self.is_open {
            events.extend(self.open(end.segment));
        }
        self.position = end;
        self.has_text = true;
        self.text.push_str(text);
        events.push(self.text_delta(text));
        self.wanted(events)
    }

    /// Ends a message that the turn's stream discarded.
    fn close_discarded(&mut self) -> Vec<StreamEvent> {
        self.discarded.map_or_else(Vec::new, |phase| self.close("incomplete", phase))
    }

    /// Adds reasoning. Leaves out what comes in the middle of a message, since output items follow each other.
    fn reasoning(&mut self, piece: &Reasoning) -> Vec<StreamEvent> {
        let mut events = self.close_discarded();
        if self.is_open {
            return self.wanted(events);
        }
        // Another model call has other reasoning. A connection that continues doesn't know the start.
        if piece.index == 0 || self.reasoning.as_ref().is_some_and(|open| open.is_partial) {
            events.extend(self.close_reasoning());
        }
        if self.reasoning.is_none() {
            events.extend(self.open_reasoning());
        }
        if let Some(open) = &mut self.reasoning
            && let Some(next) = open.at.next_piece()
        {
            open.at = next;
            open.text.push_str(&piece.text);
            let data = open.of_summary(&self.frame, "delta", json!(piece.text));
            let number = open.at.number(Step::First);
            events.push(StreamEvent::new("response.reasoning_summary_text.delta", number, data));
        }
        self.wanted(events)
    }

    /// Opens an item with reasoning.
    fn open_reasoning(&mut self) -> Vec<StreamEvent> {
        let text = self.has_text.then_some(self.position.segment);
        let at = Position::of_reasoning(self.position.index, text);
        let open = OpenReasoning { at, text: String::new(), is_partial: false };
        let item = json!({"output_index": at.index, "item": self.frame.reasoning(at.index, None)});
        let part = open.of_summary(&self.frame, "part", summary(""));
        self.reasoning = Some(open);
        vec![
            StreamEvent::new("response.output_item.added", at.number(Step::Third), item),
            StreamEvent::new("response.reasoning_summary_part.added", at.number(Step::Fourth), part),
        ]
    }

    /// Ends the open item with reasoning. The next item follows it.
    fn close_reasoning(&mut self) -> Vec<StreamEvent> {
        let Some(open) = self.reasoning.take() else { return Vec::new() };
        let (at, index) = (open.at, open.at.index);
        self.position = Position { index: index.saturating_add(1), offset: 0, ..self.position };
        if open.is_partial {
            // Only a connection that has the text can end it.
            return Vec::new();
        }
        let item = json!({"output_index": index, "item": self.frame.reasoning(index, Some(&open.text))});
        let text = open.of_summary(&self.frame, "text", json!(open.text));
        let part = open.of_summary(&self.frame, "part", summary(&open.text));
        vec![
            StreamEvent::new("response.reasoning_summary_text.done", at.number(Step::Second), text),
            StreamEvent::new("response.reasoning_summary_part.done", at.number(Step::Third), part),
            StreamEvent::new("response.output_item.done", at.number(Step::Fourth), item),
        ]
    }

    /// Opens a message.
    fn open(&mut self, segment: u64) -> Vec<StreamEvent> {
        self.position = Position { segment, offset: 0, ..self.position };
        self.text.clear();
        self.is_open = true;
        let index = self.position.index;
        let item = self.frame.message(index, "in_progress", None, Vec::new());
        vec![
            StreamEvent::new(
                "response.output_item.added",
                self.position.number(Step::Third),
                json!({"output_index": index, "item": item}),
            ),
            self.part_added(),
        ]
    }

    fn part_added(&self) -> StreamEvent {
        let number = self.position.number(Step::Fourth);
        StreamEvent::new("response.content_part.added", number, self.of_text("part", part("")))
    }

    /// Completes the message with this text, from where the client has it.
    fn complete(&mut self, text: &str, status: Status, phase: &'static str) -> Vec<StreamEvent> {
        let mut events = Vec::new();
        if !self.is_open {
            if text.is_empty() {
                return events;
            }
            events.extend(self.open(self.position.segment));
        }
        let offset = usize::try_from(self.position.offset).unwrap_or(usize::MAX);
        if let Some(rest) = text.get(offset..).filter(|rest| !rest.is_empty()) {
            self.position.offset = u64::try_from(text.len()).unwrap_or_default();
            events.push(self.text_delta(rest));
        }
        if !text.is_empty() {
            text.clone_into(&mut self.text);
        }
        let status = if text.is_empty() { Status::Incomplete } else { status };
        events.extend(self.close(status.as_str(), Some(phase)));
        events
    }

    /// Ends the open message. Its phase is known only now.
    fn close(&mut self, status: &str, phase: Option<&str>) -> Vec<StreamEvent> {
        if !self.is_open {
            return Vec::new();
        }
        let index = self.position.index;
        let cited = phase.filter(|phase| *phase == FINAL_ANSWER);
        let citations = cited.map(|_| self.frame.citations(&self.text)).unwrap_or_default();
        let mut events: Vec<StreamEvent> = Vec::new();
        let mut at = self.position;
        for (n, citation) in citations.iter().enumerate() {
            at.offset = at.offset.saturating_add(1);
            let mut data = self.of_text("annotation", citation.clone());
            set(&mut data, "annotation_index", json!(n));
            events.push(StreamEvent::new(
                "response.output_text.annotation.added",
                at.number(Step::First),
                data,
            ));
        }
        let mut done = self.of_text("text", json!(self.text));
        set(&mut done, "logprobs", json!([]));
        let part = cited_part(&self.text, citations);
        let item = self.frame.message(index, status, phase, vec![part.clone()]);
        events.extend([
            StreamEvent::new("response.output_text.done", at.number(Step::Second), done),
            StreamEvent::new(
                "response.content_part.done",
                at.number(Step::Third),
                self.of_text("part", part),
            ),
            StreamEvent::new(
                "response.output_item.done",
                at.number(Step::Fourth),
                json!({"output_index": index, "item": item}),
            ),
        ]);
        (self.is_open, self.discarded) = (false, None);
        self.position = Position { index: index.saturating_add(1), segment: at.segment, offset: 0 };
        self.text.clear();
        events
    }

    fn text_delta(&self, text: &str) -> StreamEvent {
        let mut data = self.of_text("delta", json!(text));
        set(&mut data, "logprobs", json!([]));
        StreamEvent::new("response.output_text.delta", self.position.number(Step::First), data)
    }

    fn of_text(&self, name: &str, value: Value) -> Value {
        let index = self.position.index;
        let mut data =
            json!({"item_id": self.frame.id.message(index), "output_index": index, "content_index": 0});
        set(&mut data, name, value);
        data
    }

    /// Returns the events that the client doesn't have.
    fn wanted(&self, mut events: Vec<StreamEvent>) -> Vec<StreamEvent> {
        events.retain(|event| self.after.is_none_or(|after| event.sequence_number > after));
        events
    }
}

/// An item with reasoning, of which more may follow.
#[derive(Debug)]
struct OpenReasoning {
    /// The end of the text so far.
    at: Position,
    text: String,
    /// True if an earlier connection had the start of the item.
    is_partial: bool,
}

impl OpenReasoning {
    fn of_summary(&self, frame: &Frame, name: &str, value: Value) -> Value {
        let index = self.at.index;
        let mut data =
            json!({"item_id": frame.id.reasoning(index), "output_index": index, "summary_index": 0});
        set(&mut data, name, value);
        data
    }
}

/// True if the number is of an event after the text of a response.
fn is_after_text(number: u64) -> bool {
    number >= sequence::LAST || Position::of_number(number).is_call()
}
