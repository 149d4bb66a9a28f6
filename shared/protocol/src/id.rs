//! Whose turn it is: keys that carry their tenant, and the id that fences an attempt.

use std::fmt;

use contracts::id::{OrgId, SessionId, TurnId};
use serde::{Deserialize, Serialize};

/// A session within its tenant (I7).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey {
    /// The tenant.
    pub org: OrgId,
    /// The session.
    pub session: SessionId,
}

impl SessionKey {
    /// A turn of this session.
    #[must_use]
    pub fn turn(&self, turn: TurnId) -> TurnKey {
        TurnKey { session: self.clone(), turn }
    }
}

/// A turn within its session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TurnKey {
    /// The session it belongs to.
    pub session: SessionKey,
    /// The turn.
    pub turn: TurnId,
}

/// The fresh random id of one attempt; it fences every other (rule 3).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AttemptId(String);

impl AttemptId {
    /// Wraps an id that the host made at random, or that storage kept.
    #[must_use]
    pub fn new(id: String) -> Self {
        Self(id)
    }

    /// The id as it stands in keys and items.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
