//! The notice that a session's entry in the index is out of date.

use contracts::error::causes;
use protocol::{id::SessionKey, queue_message::FinalizeMessage};

use crate::ports::{FinalizeQueue, QueueDeps};

/// Requests that a session be indexed again, if the deployment indexes sessions.
pub(super) async fn send(deps: &impl QueueDeps, sessions_are_indexed: bool, key: &SessionKey) {
    if !sessions_are_indexed {
        return;
    }
    let (org, session) = (key.org.clone(), Some(key.session.clone()));
    if let Err(error) = deps.queue().send(&FinalizeMessage::SessionIndex { org, session }).await {
        // The session is indexed with its next turn.
        tracing::warn!(error = %causes(&error), "{}", contracts::log::INDEX_NOTICE_FAILED);
    }
}
