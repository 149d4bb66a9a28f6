//! Keys that carry their tenant, and the id that fences an attempt.

use std::fmt;

use contracts::id::{OrgId, SessionId, TurnId};
use serde::{Deserialize, Serialize};

/// The key of a session within its tenant (I7).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct SessionKey {
    /// The tenant.
    pub org: OrgId,
    /// The session.
    pub session: SessionId,
}

impl SessionKey {
    /// Returns the key of a turn of this session.
    #[must_use]
    pub fn turn(&self, turn: TurnId) -> TurnKey {
        TurnKey { session: self.clone(), turn }
    }
}

/// The key of a turn within its session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TurnKey {
    /// The session it belongs to.
    pub session: SessionKey,
    /// The turn.
    pub turn: TurnId,
}

/// The fresh random id of one attempt. It fences every other attempt (rule 3).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AttemptId(String);

impl AttemptId {
    /// Wraps an id that the host generated at random or that storage returned.
    #[must_use]
    pub fn new(id: String) -> Self {
        Self(id)
    }

    /// The id as keys and items contain it.
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
