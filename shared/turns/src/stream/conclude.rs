//! The end of a stream: the remainder of the answer, then the result.

use contracts::{
    Error,
    stream::{Delta, Event, Kind, Reset, ResetReason},
};
use protocol::stream_position::{Segment, StreamPosition};

use super::passage::utf16_length;
use agent::outcome::Response;

/// Returns the reason for a reset at the end of a stream.
fn reset_reason(response: &Response, answer: &str) -> ResetReason {
    match (answer.is_empty(), response.error_code.is_some()) {
        (false, _) => ResetReason::Replaced,
        (true, true) => ResetReason::Failed,
        (true, false) => ResetReason::Tools,
    }
}

/// Returns the last events for a reader at `position`. The deltas after the last reset form the answer, which is
/// empty for a turn that didn't complete.
pub(super) fn conclude(position: Option<StreamPosition>, round: u32, response: &Response) -> Vec<Event> {
    let answer = response.answer_text().unwrap_or_default();
    let mut events = Vec::new();
    let epilogue = Segment::epilogue(round);
    match remainder(position, [response.segment, Some(epilogue)], &answer) {
        Some((_, "")) => {}
        Some((from, remainder)) => {
            let index = utf16_length(answer.get(..from.offset).unwrap_or_default());
            events.push(delta(from, index, remainder));
        }
        None => {
            let start = StreamPosition::start(epilogue);
            events.extend(
                position
                    .is_some_and(StreamPosition::has_text)
                    .then_some(reset(start, reset_reason(response, &answer))),
            );
            events.extend((!answer.is_empty()).then(|| delta(start, 0, &answer)));
        }
    }
    events.push(Event {
        id: Some(StreamPosition::result(round).event_id()),
        kind: Kind::Result(response.body.clone()),
    });
    events
}

/// Returns the last event of a stream whose request is rejected after it began. It isn't an event of the turn, so it
/// has no position.
pub(super) fn refusal_event(error: Error) -> Event {
    Event { id: None, kind: Kind::Result(Response::error(error).body) }
}

/// Returns the part of the answer that the reader lacks, if the reader has a prefix of it: from the segment that
/// became the answer, or from the end of an earlier connection.
fn remainder(
    position: Option<StreamPosition>,
    answer_segments: [Option<Segment>; 2],
    answer: &str,
) -> Option<(StreamPosition, &str)> {
    let position = position.filter(|position| answer_segments.contains(&Some(position.segment)))?;
    Some((position, answer.get(position.offset..)?))
}

fn reset(start: StreamPosition, reason: ResetReason) -> Event {
    Event { id: Some(start.event_id()), kind: Kind::Reset(Reset { reason: Some(reason) }) }
}

fn delta(from: StreamPosition, index: u64, text: &str) -> Event {
    let end = StreamPosition { offset: from.offset + text.len(), ..from };
    Event { id: Some(end.event_id()), kind: Kind::Delta(Delta { index, text: text.to_owned() }) }
}
