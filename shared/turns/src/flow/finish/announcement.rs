//! The announcement of a settled turn to the finalizer.

use contracts::error::causes;
use protocol::{correlation::CorrelationId, queue_message::FinalizeMessage, turn::Turn};

use crate::ports::{FinalizeQueue, QueueDeps};

/// Announces that a turn is settled, so that it is finalized at once.
pub(crate) async fn announce(deps: &impl QueueDeps, turn: &Turn, correlation: Option<&CorrelationId>) {
    let message = FinalizeMessage::TurnSettled {
        org: turn.key.session.org.clone(),
        session: turn.key.session.session.clone(),
        turn: turn.key.turn.clone(),
        correlation: correlation.cloned(),
    };
    if let Err(error) = deps.queue().send(&message).await {
        // The sweep finds the turn anyway; only latency is lost.
        tracing::warn!(error = %causes(&error), "{}", contracts::log::SETTLED_NOTICE_FAILED);
    }
}
