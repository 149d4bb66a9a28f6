//! A turn's stream: the answer while it is written, as server-sent events (AGN-034 §4.7).
//!
//! `delta` carries text of the answer, `reset` takes back what was shown so far, and exactly one
//! `result` carries the very [`InvokeResult`](crate::InvokeResult) that a call without streaming would
//! have returned. The deltas since the last reset concatenate to the answer. Deliberately absent:
//! progress and diagnostics (AGN-033 §1.3), and when which event is due.

use std::{fmt, num::ParseIntError, str::FromStr};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The media type of a stream.
pub const MEDIA_TYPE: &str = "text/event-stream";

/// Where an event stands in its turn's stream: strictly increasing, over every connection that the
/// stream is read from. At most 2^53 - 1, so that a browser can hold it as a number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventId(u64);

/// One event.
#[derive(Debug, Clone)]
pub struct Event {
    /// Where it stands; what a client says in `Last-Event-ID`.
    pub id: EventId,
    /// What it says.
    pub kind: Kind,
}

/// What an event says.
#[derive(Debug, Clone)]
pub enum Kind {
    /// More of the answer.
    Delta(Delta),
    /// What was shown so far is not the answer: a tool round follows, or another attempt took over.
    Reset,
    /// What the turn came to; the last event.
    Result(Box<RawValue>),
}

/// The data of a `delta` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Delta {
    /// Where the text begins in the answer, in UTF-16 code units since the last reset: what the length of
    /// a string is to a browser.
    pub index: u64,
    /// The text.
    pub text: String,
}

impl EventId {
    /// The greatest.
    pub const MAX: Self = Self((1 << 53) - 1);

    /// An id; none beyond [`EventId::MAX`].
    #[must_use]
    pub fn new(id: u64) -> Option<Self> {
        (id <= Self::MAX.0).then_some(Self(id))
    }

    /// The id as a number.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for EventId {
    type Err = InvalidEventId;

    fn from_str(text: &str) -> Result<Self, InvalidEventId> {
        Self::new(text.parse()?).ok_or(InvalidEventId)
    }
}

/// A `Last-Event-ID` that is none of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event id is a whole number up to 9007199254740991")]
pub struct InvalidEventId;

impl From<ParseIntError> for InvalidEventId {
    fn from(_: ParseIntError) -> Self {
        Self
    }
}

impl Event {
    /// The event as it is written (WHATWG, server-sent events).
    #[must_use]
    pub fn to_sse(&self) -> String {
        match &self.kind {
            // The contract's types hold strings and numbers alone: they always serialize.
            Kind::Delta(delta) => self.written("delta", &serde_json::to_string(delta).unwrap_or_default()),
            Kind::Reset => self.written("reset", "{}"),
            Kind::Result(result) => self.written("result", result.get()),
        }
    }

    fn written(&self, name: &str, data: &str) -> String {
        let mut event = format!("id: {}\nevent: {name}\n", self.id);
        for line in data.lines() {
            event.push_str("data: ");
            event.push_str(line);
            event.push('\n');
        }
        event.push('\n');
        event
    }
}
