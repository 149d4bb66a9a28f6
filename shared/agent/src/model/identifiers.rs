//! Pseudonyms of a turn's session and user.

use contracts::ContentHash;
use protocol::turn::Turn;

/// Pseudonyms that tell sessions and users apart and reveal nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identifiers {
    /// The session's. Its requests share a prefix and so a prompt cache (`prompt_cache_key`).
    pub session: String,
    /// The user's, for a provider's abuse monitoring (`safety_identifier`).
    pub user: String,
}

impl Identifiers {
    /// Creates hashes of the turn's session and user. They don't reveal whose the requests are.
    #[must_use]
    pub fn for_turn(turn: &Turn) -> Self {
        let org = &turn.key.session.org;
        let hash = |value: &str| ContentHash::hash_bytes(format!("{org}\n{value}").as_bytes()).to_string();
        Self { session: hash(turn.key.session.session.as_str()), user: hash(turn.requested_by.as_str()) }
    }
}
