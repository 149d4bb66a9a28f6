//! The history of a chat, as a chain of hashes: one point for each request that it consists of.
//!
//! The turn of a request has an id that follows from the messages up to it. It is in the session that follows from the
//! first request of the chat, or from the request at which the chat branched off.

use contracts::{
    Fingerprint,
    id::{SessionId, TurnId},
};

use crate::{id::ResponseId, retry::RequestUser};

/// The sessions that the chats of one user with equal messages may get. A deleted session, or another user's, takes one.
/// Later chats aren't recognized.
pub const MAX_EQUAL: u32 = 8;

/// A request of the history, and the answer to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// The messages up to the answer.
    pub hash: Fingerprint,
    /// The answer.
    pub answer: String,
    /// The response with the calls before the answer, if there were any. It names the turn.
    pub response: Option<ResponseId>,
}

/// The history of a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// The earlier requests, oldest first.
    pub points: Vec<Point>,
    /// All messages.
    pub hash: Fingerprint,
    /// The earlier messages as text, for a history that isn't recognized.
    pub transcript: String,
}

impl History {
    /// Returns the id of the turn whose request had these messages.
    #[must_use]
    pub fn turn(user: RequestUser<'_>, hash: &Fingerprint) -> Option<TurnId> {
        TurnId::new(id(user, "chat-turn", hash, 0)).ok()
    }

    /// Returns the id of a session that began, or branched off, with these messages. `ordinal` counts the ids that such
    /// a session may get.
    #[must_use]
    pub fn session(user: RequestUser<'_>, hash: &Fingerprint, ordinal: u32) -> Option<SessionId> {
        SessionId::new(id(user, "chat-session", hash, ordinal)).ok()
    }
}

fn id(user: RequestUser<'_>, kind: &str, hash: &Fingerprint, ordinal: u32) -> String {
    user.derive(kind, hash.to_string().as_bytes(), &[ordinal.into()]).chars().take(32).collect()
}

/// Hashes the messages of a chat, one after the other.
#[derive(Debug)]
pub(super) struct Chain(Fingerprint);

impl Chain {
    /// Begins a chain. Chats with different agents have nothing in common.
    pub(super) fn new(agent: Option<&str>) -> Self {
        Self(Fingerprint::hash_bytes(format!("chat/{}", agent.unwrap_or_default()).as_bytes()))
    }

    /// Adds a message.
    pub(super) fn push(&mut self, role: &str, content: &str) {
        let text = format!("{}/{}/{role}/{content}", self.0, role.len());
        self.0 = Fingerprint::hash_bytes(text.as_bytes());
    }

    /// Returns the hash so far.
    pub(super) fn hash(&self) -> Fingerprint {
        self.0
    }
}
