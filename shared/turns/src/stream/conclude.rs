//! How a stream ends: what is left of the answer, then the result. Pure.

use contracts::{
    Error,
    stream::{Delta, Event, Kind, Reset, ResetReason},
};
use protocol::place::{Place, Segment};

use super::writer::utf16_length;
use agent::outcome::Response;

/// Why what was shown is taken back at the end.
fn why(response: &Response, answer: &str) -> ResetReason {
    match (answer.is_empty(), response.error_code.is_some()) {
        (false, _) => ResetReason::Replaced,
        (true, true) => ResetReason::Failed,
        (true, false) => ResetReason::Tools,
    }
}

/// The last events for a reader who stands at `place`: after the last reset the deltas concatenate to
/// the answer, of which a turn that did not complete has none.
pub(super) fn conclude(place: Option<Place>, round: u32, response: &Response) -> Vec<Event> {
    let answer = response.answer().unwrap_or_default();
    let mut events = Vec::new();
    let epilogue = Segment::epilogue(round);
    match rest(place, [response.segment, Some(epilogue)], &answer) {
        Some((_, "")) => {}
        Some((from, rest)) => {
            let index = utf16_length(answer.get(..from.offset).unwrap_or_default());
            events.push(delta(from, index, rest));
        }
        None => {
            let start = Place::start(epilogue);
            events
                .extend(place.is_some_and(Place::shows_text).then_some(reset(start, why(response, &answer))));
            events.extend((!answer.is_empty()).then(|| delta(start, 0, &answer)));
        }
    }
    events.push(Event { id: Some(Place::result(round).id()), kind: Kind::Result(response.body.clone()) });
    events
}

/// How a stream ends that has begun and is refused: that is no event of the turn, so its place is none.
pub(super) fn refuse(refused: Error) -> Event {
    Event { id: None, kind: Kind::Result(Response::error(refused).body) }
}

/// What the reader lacks, if what it got is the beginning of the answer: the segment that became it, or
/// an earlier connection's end.
fn rest(place: Option<Place>, of_answer: [Option<Segment>; 2], answer: &str) -> Option<(Place, &str)> {
    let place = place.filter(|place| of_answer.contains(&Some(place.segment)))?;
    Some((place, answer.get(place.offset..)?))
}

fn reset(start: Place, reason: ResetReason) -> Event {
    Event { id: Some(start.id()), kind: Kind::Reset(Reset { reason: Some(reason) }) }
}

fn delta(from: Place, index: u64, text: &str) -> Event {
    let ends = Place { offset: from.offset + text.len(), ..from };
    Event { id: Some(ends.id()), kind: Kind::Delta(Delta { index, text: text.to_owned() }) }
}
