//! A turn's stream: the answer while it is written, as server-sent events (AGN-034 §4.7).
//!
//! `delta` carries text of the answer, `reset` takes back what was shown so far, `status` says what the turn is at,
//! and exactly one `result` carries the [`InvokeResult`](crate::InvokeResult) that a call without streaming would have
//! returned. The deltas since the last reset concatenate to the answer; a client that knows no `status` misses none
//! of it (AGN-033 §1.3: progress is no part of a response). Deliberately absent: when which event is due.

use std::{fmt, num::ParseIntError, str::FromStr};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The media type of a stream.
pub const MEDIA_TYPE: &str = "text/event-stream";

/// Where an event stands in its turn's stream: strictly increasing, over every connection that the
/// stream is read from. At most 2^53 - 1, so that a browser can hold it as a number.
///
/// # Examples
///
/// ```
/// use contracts::stream::{Event, EventId, Kind, Reset, ResetReason};
///
/// let id = EventId::new(7).expect("not too large");
/// let reset = Event { id: Some(id), kind: Kind::Reset(Reset { reason: Some(ResetReason::Tools) }) };
/// assert_eq!(reset.to_sse(), "id: 7\nevent: reset\ndata: {\"Reason\":\"tools\"}\n\n");
///
/// // What a client sends in `Last-Event-ID`.
/// assert_eq!("7".parse(), Ok(id));
/// assert!("first".parse::<EventId>().is_err());
/// assert_eq!(EventId::new(1 << 53), None);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventId(u64);

/// One event.
#[derive(Debug, Clone)]
pub struct Event {
    /// Where it stands; what a client says in `Last-Event-ID`. None of a refusal and of a status: these
    /// are no events of the turn, whose stream goes on after the last event before them.
    pub id: Option<EventId>,
    /// What it says.
    pub kind: Kind,
}

/// What an event says.
#[derive(Debug, Clone)]
pub enum Kind {
    /// More of the answer.
    Delta(Delta),
    /// What was shown so far is not the answer.
    Reset(Reset),
    /// What the turn is at.
    Status(Status),
    /// What the turn came to; the last event.
    Result(Box<RawValue>),
}

/// The data of a `delta` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = StreamDelta))]
pub struct Delta {
    /// Where the text begins in the answer, in UTF-16 code units since the last reset: what the length of
    /// a string is to a browser.
    pub index: u64,
    /// The text.
    pub text: String,
}

/// The data of a `reset` event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = StreamReset))]
pub struct Reset {
    /// Why; absent where that is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<ResetReason>,
}

/// Why what was shown is not the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = StreamResetReason))]
pub enum ResetReason {
    /// The model calls tools: what it wrote before is part of the turn's steps.
    Tools,
    /// The model is asked again, or another one in its place.
    Retry,
    /// The model's text was mended at its end.
    Restated,
    /// Another attempt took the turn over.
    TakenOver,
    /// The answer is another one.
    Replaced,
    /// The turn ended without an answer.
    Failed,
}

/// The data of a `status` event: what the turn is at now. It has no id and is not told again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = StreamStatus))]
pub struct Status {
    /// What it is at.
    pub phase: Phase,
    /// Which attempt works on it, from 1: one more for each that died.
    pub attempt: u32,
    /// Which of the model's replies it is about, from 1; absent where this connection can't know.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub round: Option<u32>,
    /// The tool that runs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool_name: Option<String>,
    /// The call that it runs for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool_call_id: Option<String>,
    /// In how many seconds the model is asked again.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retry_after_seconds: Option<u64>,
}

/// What a turn is at. More may be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = StreamPhase))]
pub enum Phase {
    /// Another connection works on it, and tells more.
    Working,
    /// The indexed sources are searched.
    Retrieving,
    /// Earlier turns are read, to tell the model of them again.
    RebuildingHistory,
    /// The model is asked.
    Thinking,
    /// The model had no answer and is asked again, or another one in its place.
    Retrying,
    /// A tool of the server's runs.
    Tool,
    /// The client's tools are asked for.
    WaitingForTools,
}

impl Status {
    /// A turn that is at this.
    #[must_use]
    pub fn of(phase: Phase, attempt: u32, round: Option<u32>) -> Self {
        Self { phase, attempt, round, tool_name: None, tool_call_id: None, retry_after_seconds: None }
    }
}

impl EventId {
    /// The greatest id.
    pub const MAX: Self = Self((1 << 53) - 1);

    /// The id with this number, unless that is beyond [`EventId::MAX`].
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

/// A `Last-Event-ID` that no stream can have sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event id is a whole number up to {}", EventId::MAX)]
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
            Kind::Delta(delta) => self.written("delta", &json(delta)),
            Kind::Reset(reset) => self.written("reset", &json(reset)),
            Kind::Status(status) => self.written("status", &json(status)),
            Kind::Result(result) => self.written("result", result.get()),
        }
    }

    fn written(&self, name: &str, data: &str) -> String {
        let mut event = self.id.map_or_else(String::new, |id| format!("id: {id}\n"));
        event.push_str(&format!("event: {name}\n"));
        // CR and LF end a line of an event stream; in a JSON text they can only be whitespace.
        for line in data.split(['\r', '\n']) {
            event.push_str("data: ");
            event.push_str(line);
            event.push('\n');
        }
        event.push('\n');
        event
    }
}

/// The data of an event holds strings and numbers alone, and these always serialize.
fn json(data: &impl Serialize) -> String {
    serde_json::to_string(data).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(kind: Kind) -> String {
        Event { id: Some(EventId(7)), kind }.to_sse()
    }

    fn result(json: &str) -> Kind {
        Kind::Result(RawValue::from_string(json.to_owned()).unwrap())
    }

    #[test]
    fn a_refusal_has_no_id() {
        let refusal = Event { id: None, kind: result("{}") };
        assert_eq!(refusal.to_sse(), "event: result\ndata: {}\n\n");
    }

    #[test]
    fn an_event_is_its_id_its_kind_and_its_data() {
        let delta = Kind::Delta(Delta { index: 3, text: "Hé".to_owned() });
        assert_eq!(written(delta), "id: 7\nevent: delta\ndata: {\"Index\":3,\"Text\":\"Hé\"}\n\n");
        assert_eq!(written(Kind::Reset(Reset::default())), "id: 7\nevent: reset\ndata: {}\n\n");
        let status = Event { id: None, kind: Kind::Status(Status::of(Phase::RebuildingHistory, 2, Some(1))) };
        assert_eq!(
            status.to_sse(),
            "event: status\ndata: {\"Phase\":\"rebuilding_history\",\"Attempt\":2,\"Round\":1}\n\n"
        );
        assert_eq!(written(result(r#"{"a":1}"#)), "id: 7\nevent: result\ndata: {\"a\":1}\n\n");
    }

    #[test]
    fn text_can_t_end_a_line() {
        for text in
            ["a\nb", "a\rb", "a\r\nb", "\n\ndata: x", "\r\revent: y", "\0id: 9\n", "\u{2028}\u{85}\u{feff}"]
        {
            let event = written(Kind::Delta(Delta { index: 0, text: text.to_owned() }));
            let lines: Vec<&str> = event.split(['\r', '\n']).collect();
            assert_eq!((lines.len(), lines.get(3..)), (5, Some(&["", ""][..])), "{event:?}");
            let data = lines.get(2).and_then(|line| line.strip_prefix("data: ")).unwrap();
            assert_eq!(serde_json::from_str::<Delta>(data).unwrap().text, text);
        }
    }

    #[test]
    fn a_result_on_several_lines_stays_one_event() {
        for end in ["\n", "\r", "\r\n"] {
            let event = written(result(&format!("{{{end}\"a\":{end}[1]}}")));
            assert!(event.ends_with("\n\n") && !event.trim_end().contains("\n\n"), "{event:?}");
            let data: Vec<&str> =
                event.split(['\r', '\n']).filter_map(|line| line.strip_prefix("data: ")).collect();
            assert_eq!(data.concat(), r#"{"a":[1]}"#);
        }
    }

    #[test]
    fn an_id_is_a_number_that_a_browser_can_hold() {
        assert_eq!("9007199254740991".parse(), Ok(EventId::MAX));
        assert_eq!("9007199254740992".parse::<EventId>(), Err(InvalidEventId));
        assert_eq!(EventId::new(1 << 53), None);
    }
}
