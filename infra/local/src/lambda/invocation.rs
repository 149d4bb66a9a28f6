//! One invocation, seen by the one who invokes: a reply that arrives in parts, or why there is none.

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

/// How many parts of a reply may wait for a slow reader before the function is made to wait.
pub(crate) const PARTS_IN_FLIGHT: usize = 16;

/// Why an invocation has no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvokeError {
    /// The function has as many processes as it may, all of them busy.
    #[error("the function's concurrency limit is reached")]
    Throttled,
    /// The local cloud is shutting down.
    #[error("the local cloud is shutting down")]
    Closed,
    /// The process could not be started at all.
    #[error("the function's process cannot be started: {0}")]
    NotStarted(String),
    /// The process ended, or was killed, before it replied.
    #[error("the function's process ended before it replied")]
    Crashed,
    /// The function reported an error instead of a reply.
    #[error("the function reported an error: {0}")]
    Function(String),
    /// The function used up its time.
    #[error("the function timed out")]
    TimedOut,
}

/// A part of a reply.
#[derive(Debug)]
pub(crate) enum Part {
    /// Some bytes of it.
    Data(Bytes),
    /// The reply is whole. A reply whose parts stop without this one is broken.
    End,
}

/// A reply that has begun.
#[derive(Debug)]
pub(crate) struct Reply {
    /// Whether the function streams: then the bytes begin with a prelude.
    pub(crate) streaming: bool,
    /// The parts as they come.
    pub(crate) parts: mpsc::Receiver<Part>,
}

/// The place a reply is sent to, once.
pub(crate) type ReplyTo = oneshot::Sender<Result<Reply, InvokeError>>;

impl Reply {
    /// The whole reply, or nothing when it broke or is longer than `limit`.
    pub(crate) async fn whole(mut self, limit: usize) -> Option<Vec<u8>> {
        let mut whole = Vec::new();
        loop {
            match self.parts.recv().await? {
                Part::Data(data) if whole.len() + data.len() <= limit => whole.extend_from_slice(&data),
                Part::Data(_) => return None,
                Part::End => return Some(whole),
            }
        }
    }
}
