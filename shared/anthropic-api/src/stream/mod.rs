//! The stream of a message, and the delivery of both forms.

#[cfg(test)]
mod tests;

use contracts::{
    response::ToolCall,
    stream::{Event, Kind, Reasoning},
};
use fronts::{Outcome, Translator};
use serde_json::{Value, json};

use crate::{
    error::ApiError,
    id,
    message::{self, Frame},
    stops,
};

/// A translator of a turn's stream into the events of a message.
///
/// The protocol can't withdraw text. Text that the turn's stream discarded is a block of its own before the answer's.
#[derive(Debug)]
pub struct MessageTranslator {
    frame: Frame,
    /// The index of the open block, or of the next one.
    index: usize,
    /// The text of the open block, as the turn's stream has it.
    text: String,
    /// The bytes of it that the client has.
    sent: usize,
    is_open: bool,
    /// True if a block with reasoning is open.
    is_thinking: bool,
    /// True if the turn's stream discarded the text.
    is_discarded: bool,
    is_finished: bool,
}

impl MessageTranslator {
    /// Creates a translator.
    #[must_use]
    pub fn new(frame: Frame) -> Self {
        Self {
            frame,
            index: 0,
            text: String::new(),
            sent: 0,
            is_open: false,
            is_thinking: false,
            is_discarded: false,
            is_finished: false,
        }
    }

    fn delta(&mut self, text: &str) -> String {
        let mut events = if self.is_discarded { self.close() } else { self.close_thinking() };
        self.text.push_str(text);
        let end = stops::cut_open(&self.text, &self.frame.stops).end;
        events.push_str(&self.send_to(end));
        events
    }

    /// Sends the text up to this end.
    fn send_to(&mut self, end: usize) -> String {
        let Some(rest) = self.text.get(self.sent..end).filter(|rest| !rest.is_empty()) else {
            return String::new();
        };
        let delta = self.block_delta(&json!({"type": "text_delta", "text": rest}));
        let mut events = String::new();
        if !self.is_open {
            self.is_open = true;
            events.push_str(&self.block_start(&json!({"type": "text", "text": "", "citations": null})));
        }
        events.push_str(&delta);
        self.sent = end;
        events
    }

    /// Adds reasoning. Leaves out what comes in the middle of a text, since blocks follow each other.
    fn reasoning(&mut self, piece: &Reasoning) -> String {
        if !self.frame.shows_thinking || !self.text.is_empty() && !self.is_discarded {
            return String::new();
        }
        let mut events = if self.is_discarded { self.close() } else { String::new() };
        // Another model call has other reasoning.
        if piece.index == 0 {
            events.push_str(&self.close_thinking());
        }
        if !self.is_thinking {
            self.is_thinking = true;
            let block = json!({"type": "thinking", "thinking": "", "signature": ""});
            events.push_str(&self.block_start(&block));
        }
        events + &self.block_delta(&json!({"type": "thinking_delta", "thinking": piece.text}))
    }

    /// Ends the block with reasoning. Its signature names the message: the service has the reasoning, and replays its own.
    fn close_thinking(&mut self) -> String {
        if !std::mem::take(&mut self.is_thinking) {
            return String::new();
        }
        let signature = id::message(&self.frame.turn);
        let delta = self.block_delta(&json!({"type": "signature_delta", "signature": signature}));
        delta + &self.block_stop()
    }

    /// Ends the block of the text, after what was withheld of it.
    fn close(&mut self) -> String {
        let mut events = self.close_thinking();
        events.push_str(&self.send_to(stops::cut(&self.text, &self.frame.stops).end));
        if self.is_open {
            events.push_str(&self.block_stop());
        }
        (self.is_open, self.is_discarded, self.sent) = (false, false, 0);
        self.text.clear();
        events
    }

    /// Sends the whole text of a message, as far as the client doesn't have it.
    fn complete(&mut self, text: &str) -> String {
        let mut events = String::new();
        if !text.starts_with(self.text.as_str()) {
            events.push_str(&self.close());
        }
        // Text beside calls was streamed before the turn's stream discarded it.
        self.is_discarded = false;
        text.clone_into(&mut self.text);
        events.push_str(&self.close());
        events
    }

    fn call(&mut self, position: usize, call: &ToolCall) -> String {
        let mut events = self.block_start(&self.frame.call(position, call, json!({})));
        let input = message::input(call).to_string();
        events.push_str(&self.block_delta(&json!({"type": "input_json_delta", "partial_json": input})));
        events.push_str(&self.block_stop());
        events
    }

    fn block_start(&self, block: &Value) -> String {
        event("content_block_start", &json!({"index": self.index, "content_block": block}))
    }

    fn block_delta(&self, delta: &Value) -> String {
        event("content_block_delta", &json!({"index": self.index, "delta": delta}))
    }

    fn block_stop(&mut self) -> String {
        let index = self.index;
        self.index = index.saturating_add(1);
        event("content_block_stop", &json!({"index": index}))
    }
}

impl Translator for MessageTranslator {
    fn start(&mut self) -> String {
        event("message_start", &json!({"message": self.frame.begun()})) + &event("ping", &json!({}))
    }

    fn event(&mut self, event: &Event) -> String {
        match &event.kind {
            Kind::Delta(delta) => self.delta(&delta.text),
            Kind::Reset(_) => {
                self.is_discarded = !self.text.is_empty();
                String::new()
            }
            Kind::Result(body) => self.finish(&Outcome::from_body(body.get().as_bytes())),
            Kind::Reasoning(piece) => self.reasoning(piece),
            Kind::Status(_) => String::new(),
        }
    }

    fn finish(&mut self, outcome: &Outcome) -> String {
        self.is_finished = true;
        let mut events = match outcome {
            Outcome::Answer { text, .. } | Outcome::Calls { text, .. } => self.complete(text),
            Outcome::Failed { .. } => self.close(),
        };
        match outcome {
            Outcome::Calls { calls, .. } => {
                for (position, call) in calls.iter().enumerate() {
                    events.push_str(&self.call(position, call));
                }
            }
            Outcome::Failed { error, .. } if !message::is_message(outcome) => {
                let body = ApiError::from(error.clone()).body();
                return events + &event("error", &body);
            }
            Outcome::Answer { .. } | Outcome::Failed { .. } => {}
        }
        let stop = self.frame.stop(outcome);
        let delta = json!({
            "stop_reason": stop.reason,
            "stop_sequence": stop.sequence,
            "stop_details": message::stop_details(Some(&stop)),
            "container": null,
        });
        let usage = message::usage(message::usage_of(outcome));
        events.push_str(&event("message_delta", &json!({"delta": delta, "usage": usage})));
        events + &event("message_stop", &json!({}))
    }

    fn is_finished(&self) -> bool {
        self.is_finished
    }
}

impl fronts::Form for Frame {
    type Error = ApiError;
    type Translator = MessageTranslator;

    fn translator(self) -> MessageTranslator {
        MessageTranslator::new(self)
    }

    fn whole(&self, outcome: &Outcome) -> Result<Value, ApiError> {
        self.with_outcome(outcome)
    }

    fn late(&self, outcome: &Outcome) -> Value {
        self.with_outcome(outcome).unwrap_or_else(|error| error.body())
    }
}

/// Formats an event. `data` is an object, to which the type is added.
fn event(kind: &str, data: &Value) -> String {
    let mut data = data.clone();
    if let Value::Object(members) = &mut data {
        members.insert("type".to_owned(), json!(kind));
    }
    format!("event: {kind}\ndata: {data}\n\n")
}
