//! The line of a turn: the turns before it that its model is told of, or that its provider remembers.
//!
//! As a rule these are the turns before it in its session. A rerun goes on from where the turn went on that it
//! repeats, so that what came after that is not told; a fork's first turn goes on from a turn of another session.
//! Every turn names the one that it goes on from, and its line is found from turn to turn.

use contracts::id::{SessionId, TurnId};
use serde::{Deserialize, Serialize};

use crate::id::SessionKey;

/// The turn that another one goes on from, as that one names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct After {
    /// Its session; none: the same.
    pub session: Option<SessionId>,
    /// Its sequence number there; 0: there is none, and the line begins.
    pub sequence: u64,
}

impl After {
    /// A turn of the same session; 0 is none.
    #[must_use]
    pub fn turn(sequence: u64) -> Self {
        Self { session: None, sequence }
    }

    /// Whether the line begins here.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.sequence == 0
    }
}

/// Where the turn is found that another one goes on from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Predecessor {
    /// Its session.
    pub session: SessionKey,
    /// Its sequence number there.
    pub sequence: u64,
    /// Its place in the line.
    pub place: u64,
}

/// The turn that a session was forked from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ForkedFrom {
    /// Its session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// Its sequence number there.
    pub sequence: u64,
    /// Its place in its line: those of the fork's turns come after it.
    pub place: u64,
}

impl ForkedFrom {
    /// The same, as a turn names it that goes on from it.
    #[must_use]
    pub fn after(&self) -> After {
        After { session: Some(self.session.clone()), sequence: self.sequence }
    }
}

/// Where a line was cut: a session that it leads into was purged, so it begins behind that.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Cut {
    /// The purged session.
    pub session: SessionId,
    /// The sequence number of the first turn that was begun without it: what turns before that one left, with a
    /// provider or in our records, may tell of it.
    pub sequence: u64,
}

/// What a turn repeats, and what was asked to be other than it was (DD-006).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Repeats {
    /// The turn that is run again.
    pub turn: TurnId,
    /// The model that was asked for, one of those that the context names.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model: Option<String>,
}
