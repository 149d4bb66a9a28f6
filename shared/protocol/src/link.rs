//! Links to payloads: paths of this API, stable and authorized, never a bucket's.
//!
//! They are relative to the API's own base, so a stored response stays true when the API moves.

use contracts::ContentHash;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::id::TurnKey;

/// What stays as it is in a path segment: the unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Where a file of a turn is read. Its name may hold letters that a path has to spell out.
#[must_use]
pub fn file(key: &TurnKey, hash: &ContentHash, name: &str) -> String {
    payload(key, &format!("files/{hash}/{}", utf8_percent_encode(name, RESERVED)))
}

/// Where a turn's payload of this name is read.
#[must_use]
pub fn payload(key: &TurnKey, name: &str) -> String {
    // Both ids are held to unreserved characters, so they stand in a path as they are.
    format!("/api/ai/agent/sessions/{}/turns/{}/payloads/{name}", key.session.session, key.turn)
}
