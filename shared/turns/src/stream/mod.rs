//! A turn's stream: its answer while it is written.
//!
//! The flows write into a [`Writer`], and a connection reads from its [`Feed`]. There is no queue between them: a
//! slow reader gets fewer and longer deltas, a disconnected one costs nothing, and neither delays the turn. The first
//! delta leaves at once, later ones at most every 20 ms, with all text that arrived meanwhile. The
//! agent's output filter holds back text that may still be replaced. So the deltas since the last reset are always a
//! prefix of the answer, if they belong to it at all.
//!
//! Every event has a [`StreamPosition`]: the attempt that wrote it, the resets around it, and the byte offset at
//! which it ends. So ids are the same on every connection, and a reader can resume where another connection ended. It
//! reads [checkpoints](crate::checkpoint::Checkpoint) while the turn runs, and the stored response afterwards.
//! Deliberately absent: the encoding of events, and heartbeats.

mod conclude;
mod feed;
#[cfg(test)]
mod feed_tests;
#[cfg(test)]
mod id_tests;
mod passage;
#[cfg(test)]
mod tests;
mod writer;

use protocol::stream_position::StreamPosition;
use std::sync::Arc;

use contracts::stream::EventId;

pub use feed::{Events, Feed, ResponseStart, StartTimeouts};
pub(crate) use passage::utf16_length;
pub use writer::Writer;

/// Creates both halves of a stream. Set `streamed` if the client asked for a stream. `after` is the last event that
/// the client has.
#[must_use]
pub fn open(streamed: bool, after: Option<EventId>) -> (Arc<Writer>, Feed) {
    let seen = after.map(StreamPosition::from);
    let writer = Arc::new(Writer::new(streamed, seen));
    (Arc::clone(&writer), Feed::new(writer, seen))
}
