//! Links to payloads: paths of this API, stable and authorized, never a bucket's (DESIGN §2).
//!
//! They are relative to the API's own base, so a stored response stays true when the API moves.

use crate::id::TurnKey;

/// Where a turn's payload is read.
#[must_use]
pub fn payload(key: &TurnKey, name: &str) -> String {
    // Both ids are held to unreserved characters, so they stand in a path as they are.
    format!("/api/ai/agent/sessions/{}/turns/{}/payloads/{name}", key.session.session, key.turn)
}
