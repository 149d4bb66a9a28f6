//! An invocation from the caller's side: a reply that arrives in parts, or an error.

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

/// Parts of a reply that are buffered for a slow reader before the function has to wait.
pub(crate) const PARTS_IN_FLIGHT: usize = 16;

/// An invocation that failed without a reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvokeError {
    /// Every process of the function is busy, and no more may be started.
    #[error("the function's concurrency limit is reached")]
    Throttled,
    /// The local cloud is shutting down.
    #[error("the local cloud is shutting down")]
    Closed,
    /// The process could not be started.
    #[error("can't start the function's process: {0}")]
    NotStarted(String),
    /// The process exited or was killed before it replied.
    #[error("the function's process exited before it replied")]
    Crashed,
    /// The function reported an error instead of a reply.
    #[error("the function reported an error: {0}")]
    Function(String),
    /// The function timed out.
    #[error("the function timed out")]
    TimedOut,
}

/// A part of a reply.
#[derive(Debug)]
pub(crate) enum Part {
    /// Bytes of the reply.
    Data(Bytes),
    /// The reply is complete. A reply whose parts end without this one was truncated.
    End,
}

/// A reply that has started.
#[derive(Debug)]
pub(crate) struct Reply {
    /// Set if the function streams, in which case the bytes begin with a prelude.
    pub(crate) streaming: bool,
    /// Parts of the reply, as they arrive.
    pub(crate) parts: mpsc::Receiver<Part>,
}

/// Sender for the reply to an invocation.
pub(crate) type ReplyTo = oneshot::Sender<Result<Reply, InvokeError>>;

impl Reply {
    /// Collects the complete reply. Returns `None` if it was truncated or is longer than `limit` bytes.
    pub(crate) async fn collect(mut self, limit: usize) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        loop {
            match self.parts.recv().await? {
                Part::Data(data) if bytes.len() + data.len() <= limit => bytes.extend_from_slice(&data),
                Part::Data(_) => return None,
                Part::End => return Some(bytes),
            }
        }
    }
}
