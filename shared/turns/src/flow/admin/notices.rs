//! Notices after a change at a user's request: to the index of sessions, and to the attempt whose turn it ended.

use contracts::{error::causes, request::SessionVisibility};
use protocol::{
    id::SessionKey,
    queue_message::FinalizeMessage,
    turn::{Phase, Turn},
};

use crate::ports::{Deps, FinalizeQueue, QueueDeps, Timer};

/// The settings of a deployment that concern its sessions.
#[derive(Debug, Clone, Copy, Default)]
pub struct SessionPolicy {
    /// True if the deployment has an index of sessions.
    pub is_indexed: bool,
    /// The visibility of new sessions in orgs whose settings leave it open.
    pub default_visibility: SessionVisibility,
}

/// Requests that a session be indexed again, if the deployment indexes sessions.
pub(super) async fn send_index_notice(deps: &impl QueueDeps, policy: SessionPolicy, key: &SessionKey) {
    if !policy.is_indexed {
        return;
    }
    let (org, session) = (key.org.clone(), Some(key.session.clone()));
    if let Err(error) = deps.queue().send(&FinalizeMessage::SessionIndex { org, session }).await {
        // The session is indexed with its next turn.
        tracing::warn!(error = %causes(&error), "{}", contracts::log::INDEX_NOTICE_FAILED);
    }
}

/// Waits until the running attempt can no longer rely on its last ownership check.
pub(super) async fn wait_until_noticed(deps: &impl Deps, turn: &Turn) {
    if turn.state.phase() == Phase::Running {
        deps.host().sleep(deps.timing().ownership_check_ttl).await;
    }
}
