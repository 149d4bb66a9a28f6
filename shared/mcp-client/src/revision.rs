//! Revisions of the protocol.

use serde::{Deserialize, Serialize};

/// A revision that this client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Revision {
    /// The stateless revision: each request says everything about itself.
    #[serde(rename = "2026-07-28")]
    V2026_07_28,
    /// The newest revision with sessions.
    #[serde(rename = "2025-11-25")]
    V2025_11_25,
    /// The revision before, whose tools have the same form. Servers choose it that have no newer one.
    #[serde(rename = "2025-06-18")]
    V2025_06_18,
}

impl Revision {
    /// The revision that an `initialize` asks for.
    pub(crate) const NEWEST_WITH_SESSIONS: Self = Self::V2025_11_25;

    const ALL: [Self; 3] = [Self::V2026_07_28, Self::V2025_11_25, Self::V2025_06_18];

    /// Returns the revision's name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2026_07_28 => "2026-07-28",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2025_06_18 => "2025-06-18",
        }
    }

    /// Returns true if requests need no session.
    #[must_use]
    pub const fn is_stateless(self) -> bool {
        matches!(self, Self::V2026_07_28)
    }

    /// Returns the revision with this name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == name)
    }
}
