//! What lists of the table take and return.

use contracts::Timestamp;
use protocol::{
    detail::{RequestDetail, ResultDetail},
    session::Session,
    turn::Turn,
};

/// A session and one of its turns, as far as they exist.
pub type FoundTurn = (Option<Session>, Option<Turn>);

/// A session, one of its turns and the details of that turn's request, as far as they exist.
pub type FoundRecord = (Option<Session>, Option<Turn>, Option<RequestDetail>);

/// The order of a list of turns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// From the first turn.
    #[default]
    OldestFirst,
    /// From the last turn backwards.
    NewestFirst,
}

/// A range of time with inclusive bounds. A missing bound doesn't limit it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeRange {
    /// The start.
    pub from: Option<Timestamp>,
    /// The end.
    pub to: Option<Timestamp>,
}

impl TimeRange {
    /// Returns true if a time is in the range.
    #[must_use]
    pub fn contains(&self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= at) && self.to.is_none_or(|to| at <= to)
    }
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// The start of the next page. `None` on the last page.
    pub next: Option<String>,
}

/// A turn with its details.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The head.
    pub turn: Turn,
    /// The details of its request.
    pub request: RequestDetail,
    /// Its result, once the turn is finalized.
    pub result: Option<ResultDetail>,
}
