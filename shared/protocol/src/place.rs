//! Where an event stands: the numbers behind an event id.

use contracts::stream::EventId;
use serde::{Deserialize, Serialize};

const NUMBER_BITS: u32 = 8;
const ATTEMPT_BITS: u32 = 3;
const OFFSET_BITS: u32 = 26;

/// The attempt that stands for what is told once a turn has come to something: after every real one.
const EPILOGUE: u64 = (1 << ATTEMPT_BITS) - 1;

/// A stretch of a turn's stream without a reset in it: what one attempt wrote at one time. Later stretches
/// are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Segment(u64);

/// A place in a turn's stream: so many bytes into a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Which stretch.
    pub segment: Segment,
    /// Bytes of its text before this place.
    pub offset: usize,
}

impl Segment {
    fn new(round: u32, attempt: u64) -> Self {
        Self((u64::from(round & 0xffff) << ATTEMPT_BITS | attempt.min(EPILOGUE)) << NUMBER_BITS)
    }

    /// The first segment of a round's n-th attempt, from 0.
    #[must_use]
    pub fn first(round: u32, attempt: usize) -> Self {
        Self::new(round, u64::try_from(attempt).unwrap_or(EPILOGUE))
    }

    /// What is told after every attempt of a round.
    #[must_use]
    pub fn epilogue(round: u32) -> Self {
        Self::new(round, EPILOGUE)
    }

    /// Whether the same attempt wrote both.
    #[must_use]
    pub fn is_of_same_attempt(self, other: Self) -> bool {
        self.0 >> NUMBER_BITS == other.0 >> NUMBER_BITS
    }

    /// The segment after a reset. Resets follow tool rounds, of which a turn has fewer than numbers are.
    #[must_use]
    pub fn next(self) -> Self {
        let last = (1 << NUMBER_BITS) - 1;
        if self.0 & last == last { self } else { Self(self.0 + 1) }
    }
}

impl Place {
    const LAST_OFFSET: usize = (1 << OFFSET_BITS) - 1;

    /// Where a segment begins: also the place of the reset before it.
    #[must_use]
    pub fn start(segment: Segment) -> Self {
        Self { segment, offset: 0 }
    }

    /// The place of a round's result: after everything else that is told of it.
    #[must_use]
    pub fn result(round: u32) -> Self {
        Self { segment: Segment::epilogue(round), offset: Self::LAST_OFFSET }
    }

    /// Whether text of the segment has been told here, that a reset would take back.
    #[must_use]
    pub fn shows_text(self) -> bool {
        self.offset > 0 && self.offset < Self::LAST_OFFSET
    }

    /// The place as a client knows it.
    #[must_use]
    pub fn id(self) -> EventId {
        let offset = u64::try_from(self.offset.min(Self::LAST_OFFSET)).unwrap_or(0);
        EventId::new(self.segment.0 << OFFSET_BITS | offset).unwrap_or(EventId::MAX)
    }
}

impl From<EventId> for Place {
    fn from(id: EventId) -> Self {
        let offset = id.get() & ((1 << OFFSET_BITS) - 1);
        Self { segment: Segment(id.get() >> OFFSET_BITS), offset: usize::try_from(offset).unwrap_or(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_again_from_its_id_and_later_places_have_greater_ids() {
        let first = Segment::new(0, 0);
        let places = [
            Place::start(first),
            Place { segment: first, offset: 1 },
            Place { segment: first, offset: 8 << 20 },
            Place::start(first.next()),
            Place::start(Segment::new(0, 1)),
            Place::start(Segment::new(0, 2).next()),
            Place::start(Segment::epilogue(0)),
            Place::result(0),
            Place::start(Segment::new(1, 0)),
            Place::result(0xffff),
        ];
        for (place, later) in places.iter().zip(&places[1..]) {
            assert!(place < later && place.id() < later.id(), "{place:?} {later:?}");
        }
        for place in places {
            assert_eq!(Place::from(place.id()), place);
        }
        assert!(Place::result(0xffff).id() <= EventId::MAX);
    }

    #[test]
    fn only_text_can_be_taken_back() {
        assert!(!Place::start(Segment::new(0, 0)).shows_text());
        assert!(Place { segment: Segment::new(0, 0), offset: 3 }.shows_text());
        assert!(!Place::result(0).shows_text());
    }
}
