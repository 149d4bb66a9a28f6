//! The stream: numbered events, pauses, and faults.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::provider::Framing;
use crate::reply::{Cut, Unit};

/// One thing that happens on the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Emission {
    /// A whole event, as it is written.
    Event(Bytes),
    Pause(Duration),
    /// The connection breaks.
    Reset,
}

/// Position of an event in the response.
const PLACE: [&str; 2] = ["output_index", "content_index"];

/// The events so far.
#[derive(Debug)]
pub struct Events {
    /// The next event's sequence number, where they have one.
    sequence: Option<u64>,
    /// True if only the stream's `event` field names the event's type.
    untyped: bool,
    emissions: Vec<Emission>,
}

impl Events {
    /// No event yet.
    pub fn framed(framing: Framing, untyped: bool) -> Self {
        let mut events = Self { sequence: framing.placed.then_some(0), untyped, emissions: Vec::new() };
        if let Some(comment) = framing.comment {
            events.raw(comment);
        }
        events
    }

    /// No event yet, of a wire without sequence numbers.
    pub fn bare() -> Self {
        Self { sequence: None, untyped: false, emissions: Vec::new() }
    }

    /// Adds an event without a name.
    pub fn data(&mut self, data: &Value) {
        self.emissions.push(Emission::Event(format!("data: {data}\n\n").into()));
    }

    /// Adds an event with the next sequence number.
    pub fn push<V: Into<Value>, const N: usize>(&mut self, kind: &str, members: [(&str, V); N]) {
        let mut event = Map::new();
        if !self.untyped {
            event.insert("type".to_owned(), json!(kind));
        }
        if let Some(sequence) = &mut self.sequence {
            event.insert("sequence_number".to_owned(), json!(sequence));
            *sequence += 1;
        }
        for (name, value) in members {
            if self.sequence.is_some() || !PLACE.contains(&name) {
                event.insert(name.to_owned(), value.into());
            }
        }
        let text = format!("event: {kind}\ndata: {}\n\n", Value::Object(event));
        self.emissions.push(Emission::Event(text.into()));
    }

    /// Adds an event as it stands.
    pub fn raw(&mut self, event: impl Into<Bytes>) {
        self.emissions.push(Emission::Event(event.into()));
    }

    /// Takes the last event's blank line away, and its line end.
    pub fn leave_unended(&mut self) {
        if let Some(Emission::Event(text)) = self.emissions.last_mut() {
            text.truncate(text.trim_ascii_end().len());
        }
    }

    pub fn pause(&mut self, pause: Duration) {
        if !pause.is_zero() {
            self.emissions.push(Emission::Pause(pause));
        }
    }

    /// Returns the events of a stream that ends early.
    pub fn cut(self, cut: Option<Cut>) -> Vec<Emission> {
        let Some(cut) = cut else {
            return self.emissions;
        };
        let mut left = cut.after;
        let mut kept = Vec::new();
        for emission in self.emissions {
            let Emission::Event(text) = emission else {
                kept.push(emission);
                continue;
            };
            let takes = match cut.unit {
                Unit::Events => 1,
                Unit::Bytes => text.len(),
            };
            if takes > left {
                if cut.unit == Unit::Bytes && left > 0 {
                    kept.push(Emission::Event(text.slice(..left)));
                }
                break;
            }
            left -= takes;
            kept.push(Emission::Event(text));
        }
        if cut.reset {
            kept.push(Emission::Reset);
        }
        kept
    }
}
