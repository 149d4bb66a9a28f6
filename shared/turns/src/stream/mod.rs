//! A turn's stream: its answer while it is written (AGN-034 §4.7).
//!
//! The flows write into a [`Writer`], a connection reads from its [`Feed`]. There is no queue between
//! them: a reader that is slow gets fewer and longer deltas, one that is gone costs nothing, and neither
//! delays the turn. Text that may still be replaced is held back by the agent's guard, so that
//! the deltas since the last reset are always the beginning of the answer, if they are of it at all.
//!
//! Every event has a [`Place`]: which attempt wrote it, between which resets, and how many bytes into
//! that text it ends. That makes ids the same on every connection, and lets a reader go on where
//! another connection broke off: from [checkpoints](crate::checkpoint::Checkpoint) while the turn runs, and from
//! the stored response afterwards. Deliberately absent: how events are written as bytes, and heartbeats.

mod conclude;
mod feed;
#[cfg(test)]
mod id_tests;
#[cfg(test)]
mod tests;
mod writer;

use protocol::place::Place;
use std::sync::Arc;

use contracts::stream::EventId;

pub use feed::{Events, Feed, Opened, Patience};
pub use writer::Writer;

/// Both halves of a stream. `streamed` says whether the client asked for one; `after` is the last event
/// that it has seen.
#[must_use]
pub fn open(streamed: bool, after: Option<EventId>) -> (Arc<Writer>, Feed) {
    let seen = after.map(Place::from);
    let writer = Arc::new(Writer::new(streamed, seen));
    (Arc::clone(&writer), Feed::new(writer, seen))
}
