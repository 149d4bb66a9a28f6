//! Sequence numbers of events, which are positions in a response's stream.
//!
//! A number holds the output index, the segment of the turn's stream, the bytes of text up to the event, and the step of
//! the item. So any process can continue after any number, without a count of the events before it. Numbers ascend and
//! have gaps. The highest fits into a double.

use contracts::stream::EventId;

const STEP_BITS: u32 = 2;
const OFFSET_BITS: u32 = 26;
const SEGMENT_BITS: u32 = 11;

/// The segment of a turn's stream in which function calls are numbered: after every segment with text.
const CALLS: u64 = (1 << SEGMENT_BITS) - 1;

/// The segment in which reasoning is numbered. Its offsets hold the segment of the text before it, and count its pieces.
const REASONING: u64 = CALLS - 1;
const PIECE_BITS: u32 = 14;

/// The number of `response.created`.
pub const CREATED: u64 = 0;
/// The number of `response.in_progress`.
pub const IN_PROGRESS: u64 = 1;
/// The number of the last event.
pub const LAST: u64 = (1 << (8 + SEGMENT_BITS + OFFSET_BITS + STEP_BITS)) - 1;

/// A position in a response's stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    /// The index of the output item.
    pub index: u64,
    /// The segment of the turn's stream, within the round of the response.
    pub segment: u64,
    /// The bytes of the segment's text up to here.
    pub offset: u64,
}

/// A step of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The first event at a position, for text the delta that ends there.
    First = 0,
    /// The second one.
    Second = 1,
    /// The third one.
    Third = 2,
    /// The last one.
    Fourth = 3,
}

impl Position {
    /// Returns the position of an event of the turn's stream, in this output item.
    #[must_use]
    pub fn of_event(id: EventId, index: u64) -> Self {
        let offset = id.get() & mask(OFFSET_BITS);
        Self { index, segment: id.get() >> OFFSET_BITS & mask(SEGMENT_BITS), offset }
    }

    /// Returns the position of the function call with this output index. `first` is the index of the first call.
    #[must_use]
    pub fn of_call(index: u64, first: u64) -> Self {
        Self { index, segment: CALLS, offset: first }
    }

    /// Returns the start of the reasoning with this output index, after a text in this segment of the turn's stream.
    #[must_use]
    pub fn of_reasoning(index: u64, text: Option<u64>) -> Self {
        let text = text.map_or(0, |segment| segment.saturating_add(1));
        Self { index, segment: REASONING, offset: text << PIECE_BITS }
    }

    /// Returns the position after another piece of reasoning. `None` after 16,383 pieces.
    #[must_use]
    pub fn next_piece(self) -> Option<Self> {
        let is_last = self.offset & mask(PIECE_BITS) == mask(PIECE_BITS);
        (!is_last).then_some(Self { offset: self.offset.saturating_add(1), ..self })
    }

    /// Returns the position after the text before this reasoning, if there is text.
    #[must_use]
    pub fn text_before(self) -> Option<Self> {
        let segment = (self.offset >> PIECE_BITS).checked_sub(1)?;
        Some(Self { index: self.index, segment, offset: mask(OFFSET_BITS) })
    }

    /// Returns the number of the event at a step of this position.
    #[must_use]
    pub fn number(self, step: Step) -> u64 {
        let Self { index, segment, offset } = self;
        let index = index.min(mask(8) - 1);
        let position = (index << SEGMENT_BITS | segment & mask(SEGMENT_BITS)) << OFFSET_BITS
            | offset & mask(OFFSET_BITS);
        position << STEP_BITS | step as u64
    }

    /// Returns the position of the event with this number.
    #[must_use]
    pub fn of_number(number: u64) -> Self {
        let position = number >> STEP_BITS;
        Self {
            index: position >> (OFFSET_BITS + SEGMENT_BITS),
            segment: position >> OFFSET_BITS & mask(SEGMENT_BITS),
            offset: position & mask(OFFSET_BITS),
        }
    }

    /// True if the position is of a function call.
    #[must_use]
    pub fn is_call(self) -> bool {
        self.segment == CALLS
    }

    /// True if the position is in reasoning.
    #[must_use]
    pub fn is_reasoning(self) -> bool {
        self.segment == REASONING
    }

    /// Returns the id of the turn's event at this position, after which its stream continues.
    #[must_use]
    pub fn event(self, round: u32) -> Option<EventId> {
        let segment = u64::from(round & 0xffff) << SEGMENT_BITS | self.segment;
        EventId::new(segment << OFFSET_BITS | self.offset)
    }
}

const fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ascend_along_a_stream() {
        let at = |index, segment, offset| Position { index, segment, offset };
        let numbers = [
            CREATED,
            IN_PROGRESS,
            at(0, 0, 0).number(Step::Third),
            at(0, 0, 0).number(Step::Fourth),
            at(0, 0, 1).number(Step::First),
            at(0, 0, 5).number(Step::First),
            at(0, 0, 5).number(Step::Second),
            at(0, 0, 5).number(Step::Fourth),
            at(1, 1, 0).number(Step::Third),
            at(1, 256, 3).number(Step::First),
            Position::of_reasoning(2, Some(256)).number(Step::Third),
            Position::of_reasoning(2, Some(256)).next_piece().unwrap().number(Step::First),
            at(3, 0, 0).number(Step::Third),
            Position::of_call(3, 3).number(Step::First),
            Position::of_call(3, 3).number(Step::Fourth),
            Position::of_call(4, 3).number(Step::First),
            LAST,
        ];
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
        const { assert!(LAST < 1 << 53) };
    }

    #[test]
    fn position_round_trips_through_number_and_event() {
        let position = Position { index: 3, segment: 0x712, offset: 77 };
        assert_eq!(Position::of_number(position.number(Step::Second)), position);
        let event = position.event(5).unwrap();
        assert_eq!(Position::of_event(event, 3), position);
        assert!(Position::of_call(4, 2).is_call() && !position.is_call());
        let reasoning = Position::of_reasoning(3, Some(0x712));
        assert_eq!(Position::of_number(reasoning.number(Step::Third)), reasoning);
        assert!(reasoning.is_reasoning() && !position.is_reasoning());
        assert_eq!(reasoning.text_before().map(|text| text.segment), Some(0x712));
        assert_eq!(Position::of_reasoning(3, None).text_before(), None);
    }
}
