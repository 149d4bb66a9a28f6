//! Stream positions, the numbers behind event ids.

use contracts::stream::EventId;
use serde::{Deserialize, Serialize};

// With 16 bits for the round, a position takes 53 bits: clients in JavaScript keep such a number exactly.
const NUMBER_BITS: u32 = 8;
const ATTEMPT_BITS: u32 = 3;
const OFFSET_BITS: u32 = 26;

/// The attempt number of events that follow the outcome of a turn. It is greater than every real attempt number.
const EPILOGUE: u64 = (1 << ATTEMPT_BITS) - 1;

/// A section of a turn's stream without a reset, written by one attempt. Later segments compare greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Segment(u64);

/// A position in a turn's stream, as a byte offset into a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamPosition {
    /// The segment.
    pub segment: Segment,
    /// The number of bytes of its text before this position.
    pub offset: usize,
}

impl Segment {
    fn new(round: u32, attempt: u64) -> Self {
        Self((u64::from(round & 0xffff) << ATTEMPT_BITS | attempt.min(EPILOGUE)) << NUMBER_BITS)
    }

    /// Returns the first segment of a round's n-th attempt, from 0.
    #[must_use]
    pub fn first(round: u32, attempt: usize) -> Self {
        Self::new(round, u64::try_from(attempt).unwrap_or(EPILOGUE))
    }

    /// Returns the segment after all attempts of a round.
    #[must_use]
    pub fn epilogue(round: u32) -> Self {
        Self::new(round, EPILOGUE)
    }

    /// True if the same attempt wrote both segments.
    #[must_use]
    pub fn is_of_same_attempt(self, other: Self) -> bool {
        self.0 >> NUMBER_BITS == other.0 >> NUMBER_BITS
    }

    /// Returns the segment after a reset. Resets follow tool rounds, and a turn has fewer of those than there are
    /// numbers.
    #[must_use]
    pub fn next(self) -> Self {
        let last = (1 << NUMBER_BITS) - 1;
        if self.0 & last == last { self } else { Self(self.0 + 1) }
    }
}

impl StreamPosition {
    const MAX_OFFSET: usize = (1 << OFFSET_BITS) - 1;

    /// Returns the start of a segment, which is also the position of the reset before it.
    #[must_use]
    pub fn start(segment: Segment) -> Self {
        Self { segment, offset: 0 }
    }

    /// Returns the position of a round's result, after all of its other events.
    #[must_use]
    pub fn result(round: u32) -> Self {
        Self { segment: Segment::epilogue(round), offset: Self::MAX_OFFSET }
    }

    /// True if text of the segment was sent before this position, which a reset would retract.
    #[must_use]
    pub fn has_text(self) -> bool {
        self.offset > 0 && self.offset < Self::MAX_OFFSET
    }

    /// Returns the event id that clients see.
    #[must_use]
    pub fn event_id(self) -> EventId {
        let offset = u64::try_from(self.offset.min(Self::MAX_OFFSET)).unwrap_or(0);
        EventId::new(self.segment.0 << OFFSET_BITS | offset).unwrap_or(EventId::MAX)
    }
}

impl From<EventId> for StreamPosition {
    fn from(id: EventId) -> Self {
        let offset = id.get() & ((1 << OFFSET_BITS) - 1);
        Self { segment: Segment(id.get() >> OFFSET_BITS), offset: usize::try_from(offset).unwrap_or(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_round_trips_through_event_id_in_order() {
        let first = Segment::new(0, 0);
        let places = [
            StreamPosition::start(first),
            StreamPosition { segment: first, offset: 1 },
            StreamPosition { segment: first, offset: 8 << 20 },
            StreamPosition::start(first.next()),
            StreamPosition::start(Segment::new(0, 1)),
            StreamPosition::start(Segment::new(0, 2).next()),
            StreamPosition::start(Segment::epilogue(0)),
            StreamPosition::result(0),
            StreamPosition::start(Segment::new(1, 0)),
            StreamPosition::result(0xffff),
        ];
        for (place, later) in places.iter().zip(&places[1..]) {
            assert!(place < later && place.event_id() < later.event_id(), "{place:?} {later:?}");
        }
        for place in places {
            assert_eq!(StreamPosition::from(place.event_id()), place);
        }
        assert!(StreamPosition::result(0xffff).event_id() <= EventId::MAX);
    }

    #[test]
    fn only_text_positions_have_text() {
        assert!(!StreamPosition::start(Segment::new(0, 0)).has_text());
        assert!(StreamPosition { segment: Segment::new(0, 0), offset: 3 }.has_text());
        assert!(!StreamPosition::result(0).has_text());
    }
}
