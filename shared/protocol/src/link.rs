//! Links to payloads: paths of this API, stable and authorized, never a bucket's.
//!
//! They are relative to the API's own base, so a stored response stays true when the API moves.

use contracts::{
    ContentHash,
    paths::{self, TurnPath},
};

use crate::id::TurnKey;

/// Where a file of a turn is read.
#[must_use]
pub fn file(key: &TurnKey, hash: &ContentHash, name: &str) -> String {
    paths::FILE.of(&key.session.session, &key.turn, hash, name)
}

/// Where a turn's payload is read.
#[must_use]
pub fn payload(key: &TurnKey, path: TurnPath) -> String {
    path.of(&key.session.session, &key.turn)
}
