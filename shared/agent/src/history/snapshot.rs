//! A snapshot of a conversation: a turn's exchange and those before it in its session, in one stored object.
//!
//! The turn that answers stores it, and the next turn reads it in place of two objects of every earlier turn. It is a
//! copy: a turn that finds none, or one that it can't use, reads the turns' own objects. The ancestors of a turn never
//! change, so it doesn't become stale. It contains nothing of other sessions, which may be purged before this one.

use contracts::{error::JsonError, json_bytes};
use protocol::turn::Turn;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::{Exchange, LoadedHistory};
use crate::attempt::history_window::HistoryWindow;

/// The schema version that this code writes.
const SCHEMA_VERSION: u32 = 1;

/// Maximum size of the exchanges in a snapshot, in bytes. Older ones are in the snapshots of older turns.
const MAX_BYTES: usize = 1 << 20;

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct SnapshotJson<'a> {
    schema_version: u32,
    token_budget: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<&'a HistoryWindow>,
    exchanges: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Snapshot {
    schema_version: u32,
    token_budget: u32,
    #[serde(default)]
    window: Option<HistoryWindow>,
    exchanges: Vec<Exchange>,
}

/// Serializes the snapshot of a turn: its own exchange, and the turns before it. `None` if its exchange is too large.
#[must_use]
pub fn to_json(turn: &Turn, history: &LoadedHistory, own: &Exchange) -> Option<Vec<u8>> {
    let earlier = history.exchanges.iter().rev().take_while(|exchange| exchange.depth > turn.base_depth);
    let (mut exchanges, mut bytes_left) = (Vec::new(), MAX_BYTES);
    for exchange in std::iter::once(own).chain(earlier) {
        let json = to_raw_value(exchange).ok()?;
        let Some(rest) = bytes_left.checked_sub(json.get().len()) else { break };
        bytes_left = rest;
        exchanges.push(json);
    }
    if exchanges.is_empty() {
        return None;
    }
    let (token_budget, window) = (history.token_budget, own.window.as_ref());
    serde_json::to_vec(&SnapshotJson { schema_version: SCHEMA_VERSION, token_budget, window, exchanges }).ok()
}

/// True if a turn may have left a snapshot. The first turn of an ancestry leaves none, and neither does a turn that
/// continued from a response that its provider stored.
#[must_use]
pub fn may_exist(turn: &Turn) -> bool {
    !turn.parent.is_none() && turn.chain.previous_response_id().is_none()
}

/// Reads the snapshot of a turn. Returns its exchanges, newest first. `None` if another version of this code wrote it, or
/// if they were collected within a smaller token budget than this one: their files may have been left out.
///
/// # Errors
/// If the bytes are not a snapshot of this turn.
pub fn from_json(
    bytes: &[u8],
    turn: &Turn,
    token_budget: u32,
) -> Result<Option<Vec<Exchange>>, SnapshotError> {
    let Snapshot { schema_version, token_budget: within, window, mut exchanges } =
        json_bytes::from_slice(bytes).map_err(|error| SnapshotError::Malformed(JsonError::from(&error)))?;
    let newest = exchanges.first_mut().filter(|newest| newest.depth == turn.depth());
    newest.ok_or(SnapshotError::OtherTurn)?.window = window;
    let org = &turn.key.session.org;
    let is_older = |pair: &[Exchange]| matches!(pair, [newer, older] if newer.depth > older.depth);
    let is_own = |exchange: &Exchange| {
        exchange.depth > turn.base_depth
            && exchange.parent.as_ref().is_none_or(|parent| parent.session.org == *org)
    };
    if !exchanges.windows(2).all(is_older) || !exchanges.iter().all(is_own) {
        return Err(SnapshotError::OtherTurn);
    }
    Ok(Some(exchanges).filter(|_| schema_version == SCHEMA_VERSION && token_budget <= within))
}

/// The reason that a snapshot can't be used. It contains a conversation, so the error shows nothing of it (I14).
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The bytes are not the expected JSON.
    #[error("the history snapshot is malformed")]
    Malformed(#[source] JsonError),
    /// It doesn't belong to this turn.
    #[error("the history snapshot is of another turn")]
    OtherTurn,
}
