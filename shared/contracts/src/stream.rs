//! The event stream of a turn: the answer while it is written, as server-sent events.
//!
//! `delta` carries text of the answer, `reset` discards the text sent so far, `status` reports the phase of the
//! turn, `reasoning` carries reasoning of the model, and exactly one `result` carries the
//! [`InvokeResult`](crate::InvokeResult) that a call without streaming would have returned. The deltas since the last
//! reset concatenate to the answer, so a client may ignore `status` and `reasoning`.
//! Deliberately absent: the rules for when an event is sent.

use std::{fmt, num::ParseIntError, str::FromStr};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The media type of a stream.
pub const MEDIA_TYPE: &str = "text/event-stream";

/// The position of an event in its turn's stream. Strictly increasing, across every connection that reads the
/// stream. At most 2^53 - 1, so that a browser can hold it as a number.
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

/// An event of a stream.
#[derive(Debug, Clone)]
pub struct Event {
    /// The position in the stream, which a client sends in `Last-Event-ID`. Absent for a refusal, a status and
    /// reasoning, which are not events of the turn: the stream resumes after the last event before them.
    pub id: Option<EventId>,
    /// The kind of event and its data.
    pub kind: Kind,
}

/// The kind of an event and its data.
#[derive(Debug, Clone)]
pub enum Kind {
    /// More text of the answer.
    Delta(Delta),
    /// Discards the text sent so far.
    Reset(Reset),
    /// The current phase of the turn.
    Status(Status),
    /// More of the model's reasoning.
    Reasoning(Reasoning),
    /// The outcome of the turn. The last event.
    Result(Box<RawValue>),
}

/// The data of a `delta` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = StreamDelta))]
pub struct Delta {
    /// Offset of the text in the answer since the last reset, in UTF-16 code units (the unit of a string's length
    /// in JavaScript).
    pub index: u64,
    /// The text.
    pub text: String,
}

/// The data of a `reset` event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = StreamReset))]
pub struct Reset {
    /// The reason. Absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<ResetReason>,
}

/// The reason for discarding the text sent so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = StreamResetReason))]
pub enum ResetReason {
    /// The model called tools. The text it wrote before is in the turn's steps.
    Tools,
    /// The model call is retried, or another model is used.
    Retry,
    /// The end of the model's text was corrected.
    Restated,
    /// Another attempt took over the turn.
    TakenOver,
    /// The answer was replaced.
    Replaced,
    /// The turn ended without an answer.
    Failed,
}

/// The data of a `reasoning` event: a piece of the model's reasoning, as far as its provider shows it. It is not part of
/// the answer. It has no id and is not replayed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = StreamReasoning))]
pub struct Reasoning {
    /// Number of the model reply, from 1.
    pub round: u32,
    /// Offset of the text in the reasoning of the model call, in UTF-16 code units. At 0, the reasoning of another call
    /// begins.
    pub index: u64,
    /// The text.
    pub text: String,
}

/// The data of a `status` event: the current phase of the turn. It has no id and is not replayed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = StreamStatus))]
pub struct Status {
    /// The current phase.
    pub phase: Phase,
    /// Number of the attempt that runs the turn, from 1. Each takeover adds one.
    pub attempt: u32,
    /// Number of the model reply, from 1. Absent if this connection doesn't know it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub round: Option<u32>,
    /// The tool that is running.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool_name: Option<String>,
    /// The tool call that it runs for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool_call_id: Option<String>,
    /// The progress of the tool in its own words, such as `3 of 10: Indexing`, at most 2 KiB.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool_progress: Option<String>,
    /// Seconds until the model call is retried.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retry_after_seconds: Option<u64>,
}

/// The phase of a running turn. More values may be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = StreamPhase))]
pub enum Phase {
    /// Another connection runs the turn and sends more detail.
    Working,
    /// Searching the indexed sources.
    Retrieving,
    /// Reading earlier turns to rebuild the conversation for the model.
    RebuildingHistory,
    /// Waiting for the model.
    Thinking,
    /// Retrying the model call, or calling another model.
    Retrying,
    /// Running a server tool.
    Tool,
    /// Waiting for the results of client tools.
    WaitingForTools,
    /// Waiting for a person to approve a call of a tool.
    WaitingForApproval,
}

impl Status {
    /// Creates a status without tool or retry details.
    #[must_use]
    pub fn new(phase: Phase, attempt: u32, round: Option<u32>) -> Self {
        let (tool_name, tool_call_id, tool_progress) = (None, None, None);
        Self { phase, attempt, round, tool_name, tool_call_id, tool_progress, retry_after_seconds: None }
    }
}

impl EventId {
    /// The greatest id.
    pub const MAX: Self = Self((1 << 53) - 1);

    /// Creates an id. Returns `None` if the number is beyond [`EventId::MAX`].
    #[must_use]
    pub fn new(id: u64) -> Option<Self> {
        (id <= Self::MAX.0).then_some(Self(id))
    }

    /// The id as a number.
    #[must_use]
    pub const fn get(self) -> u64 {
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

/// An invalid `Last-Event-ID`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event id is a whole number up to {}", EventId::MAX)]
pub struct InvalidEventId;

impl From<ParseIntError> for InvalidEventId {
    fn from(_: ParseIntError) -> Self {
        Self
    }
}

impl Event {
    /// Formats the event as a server-sent event (WHATWG).
    #[must_use]
    pub fn to_sse(&self) -> String {
        let mut event = Vec::new();
        self.write_sse(&mut event);
        String::from_utf8(event).unwrap_or_default()
    }

    /// Appends the event as a server-sent event, in UTF-8. Several events fit into one buffer.
    pub fn write_sse(&self, out: &mut Vec<u8>) {
        if let Some(id) = self.id {
            out.extend_from_slice(b"id: ");
            write_json(out, &id);
            out.push(b'\n');
        }
        match &self.kind {
            Kind::Delta(delta) => write_data(out, "delta", delta),
            Kind::Reset(reset) => write_data(out, "reset", reset),
            Kind::Status(status) => write_data(out, "status", status),
            Kind::Reasoning(reasoning) => write_data(out, "reasoning", reasoning),
            Kind::Result(result) => {
                write_name(out, "result");
                // CR and LF end a line of an event stream. In a JSON text they can only be whitespace.
                for line in result.get().split(['\r', '\n']) {
                    out.extend_from_slice(b"data: ");
                    out.extend_from_slice(line.as_bytes());
                    out.push(b'\n');
                }
            }
        }
        out.push(b'\n');
    }
}

fn write_name(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(name.as_bytes());
    out.push(b'\n');
}

/// Appends the name and the data of an event. Its JSON is compact, so it is a single line.
fn write_data(out: &mut Vec<u8>, name: &str, data: &impl Serialize) {
    write_name(out, name);
    out.extend_from_slice(b"data: ");
    write_json(out, data);
    out.push(b'\n');
}

/// Appends a value as JSON. Strings and numbers always serialize, and a vector takes every byte, so this can't fail.
fn write_json(out: &mut Vec<u8>, value: &impl Serialize) {
    let _ = serde_json::to_writer(out, value);
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
    fn refusal_has_no_id() {
        let refusal = Event { id: None, kind: result("{}") };
        assert_eq!(refusal.to_sse(), "event: result\ndata: {}\n\n");
    }

    #[test]
    fn event_has_id_kind_and_data() {
        let delta = Kind::Delta(Delta { index: 3, text: "Hé".to_owned() });
        assert_eq!(written(delta), "id: 7\nevent: delta\ndata: {\"Index\":3,\"Text\":\"Hé\"}\n\n");
        assert_eq!(written(Kind::Reset(Reset::default())), "id: 7\nevent: reset\ndata: {}\n\n");
        let status =
            Event { id: None, kind: Kind::Status(Status::new(Phase::RebuildingHistory, 2, Some(1))) };
        assert_eq!(
            status.to_sse(),
            "event: status\ndata: {\"Phase\":\"rebuilding_history\",\"Attempt\":2,\"Round\":1}\n\n"
        );
        assert_eq!(written(result(r#"{"a":1}"#)), "id: 7\nevent: result\ndata: {\"a\":1}\n\n");
    }

    #[test]
    fn text_cannot_break_event_lines() {
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
    fn multiline_result_stays_one_event() {
        for end in ["\n", "\r", "\r\n"] {
            let event = written(result(&format!("{{{end}\"a\":{end}[1]}}")));
            assert!(event.ends_with("\n\n") && !event.trim_end().contains("\n\n"), "{event:?}");
            let data: Vec<&str> =
                event.split(['\r', '\n']).filter_map(|line| line.strip_prefix("data: ")).collect();
            assert_eq!(data.concat(), r#"{"a":[1]}"#);
        }
    }

    #[test]
    fn event_id_limited_to_safe_integer() {
        assert_eq!("9007199254740991".parse(), Ok(EventId::MAX));
        assert_eq!("9007199254740992".parse::<EventId>(), Err(InvalidEventId));
        assert_eq!(EventId::new(1 << 53), None);
    }
}
