//! The ledger of effects: the calls that a round sends, recorded before the first of them, and the calls whose outcome is
//! unknown.
//!
//! An intent is an item of its own and no attribute of the head. Every write of a head replaces it by the writer's own
//! snapshot, so a renewal would erase an intent that was written since (E1).

use std::{collections::BTreeSet, time::Duration};

use contracts::{Fingerprint, Timestamp};
use serde::{Deserialize, Serialize};

use crate::id::{AttemptId, TurnKey};

/// The time after its intent for which a call may be sent again under its key. Targets forget keys.
pub const KEY_VALIDITY: Duration = Duration::from_mins(15);

/// The calls of a round that have effects. Written once, before the first of them is sent, by the attempt that runs the
/// turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// The turn.
    pub turn: TurnKey,
    /// The number of the round in its turn.
    pub round: u32,
    /// The attempt that sends the calls. Its objects hold the round and the results.
    pub attempt: AttemptId,
    /// The time at which it was written.
    pub at: Timestamp,
    /// The calls.
    pub calls: Vec<IntendedCall>,
}

/// A call of an intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct IntendedCall {
    /// Its place among the server's calls of the reply.
    pub index: u32,
    /// The tool.
    pub tool: String,
    /// The connection that it is sent over.
    pub connection: String,
    /// The version of the connection.
    pub revision: u32,
    /// The key of the call, the same in every attempt.
    pub key: String,
    /// The hash of connection, tool and arguments, by which equal calls of the session are recognized.
    pub hash: Fingerprint,
    /// True if the target performs one call per key.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub is_keyed: bool,
}

/// A call whose outcome is unknown. Equal calls of the session are refused until a person resolves it (E4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownEffect {
    /// The turn.
    pub turn: TurnKey,
    /// The number of the round.
    pub round: u32,
    /// The call.
    pub call: IntendedCall,
    /// The time at which the outcome was found to be unknown.
    pub at: Timestamp,
}

/// The treatment of an intended call without a result after a takeover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterTakeover {
    /// Send it again under the same key.
    Repeat,
    /// Never send it again. Its outcome is unknown.
    Unknown,
}

impl Intent {
    /// Decides on a call that another attempt intended and that has no result (E1, E3).
    #[must_use]
    pub fn after_takeover(&self, call: &IntendedCall, now: Timestamp) -> AfterTakeover {
        match call.is_keyed && now < self.at.after(KEY_VALIDITY) {
            true => AfterTakeover::Repeat,
            false => AfterTakeover::Unknown,
        }
    }

    /// Returns the call at this place among the server's calls.
    #[must_use]
    pub fn call(&self, index: u32) -> Option<&IntendedCall> {
        self.calls.iter().find(|call| call.index == index)
    }

    /// Returns the hashes of the calls, each once.
    #[must_use]
    pub fn hashes(&self) -> BTreeSet<Fingerprint> {
        self.calls.iter().map(|call| call.hash).collect()
    }

    /// Returns a call of this intent as one with an unknown outcome.
    #[must_use]
    pub fn unknown(&self, call: &IntendedCall, at: Timestamp) -> UnknownEffect {
        UnknownEffect { turn: self.turn.clone(), round: self.round, call: call.clone(), at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_keyed_calls_are_repeated_and_only_while_the_key_is_valid() {
        let session = crate::id::SessionKey { org: "o".parse().unwrap(), session: "s".parse().unwrap() };
        let call = |is_keyed| IntendedCall {
            index: 0,
            tool: "refund".to_owned(),
            connection: "shop".to_owned(),
            revision: 1,
            key: "k".to_owned(),
            hash: Fingerprint::hash_bytes(b"call"),
            is_keyed,
        };
        let at = Timestamp::from_millis(1_000);
        let intent = Intent {
            turn: session.turn("t".parse().unwrap()),
            round: 1,
            attempt: AttemptId::new("a".to_owned()),
            at,
            calls: vec![call(true), call(false)],
        };
        let last = at.after(KEY_VALIDITY - Duration::from_millis(1));
        assert_eq!(intent.after_takeover(&call(true), last), AfterTakeover::Repeat);
        assert_eq!(intent.after_takeover(&call(true), at.after(KEY_VALIDITY)), AfterTakeover::Unknown);
        assert_eq!(intent.after_takeover(&call(false), at), AfterTakeover::Unknown);
        assert_eq!(intent.hashes().len(), 1);
    }
}
