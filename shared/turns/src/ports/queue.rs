//! The queue of work for the finalizer.

use std::future::Future;

use protocol::queue_message::FinalizeMessage;

use super::errors::Unavailable;

/// The finalize queue. A lost message only costs latency.
pub trait FinalizeQueue: Send + Sync {
    /// Sends a message, which is delivered after a second.
    fn send(&self, message: &FinalizeMessage) -> impl Future<Output = Result<(), Unavailable>> + Send;
}
