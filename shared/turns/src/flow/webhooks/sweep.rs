//! Sweep of due lanes: announces them again, because a message may be lost, and a long pause has none.

use std::time::Duration;

use contracts::error::causes;
use protocol::webhook::LaneKey;

use crate::{
    flow::due,
    ports::{Deps, Outbox, Unavailable, WebhookQueue},
};

/// Announces every due lane, for at most `budget`. Returns their number.
///
/// # Errors
/// If the index can't be read.
pub async fn sweep_lanes<D>(
    deps: &D,
    queue: &impl WebhookQueue,
    budget: Duration,
) -> Result<usize, Unavailable>
where
    D: Deps,
    D::Store: Outbox,
{
    let store = deps.store();
    let page = |shard, now, after| store.due_lanes(shard, now, after);
    let work = |lane: LaneKey, _: Duration| async move {
        if let Err(error) = queue.announce(&lane, Duration::ZERO).await {
            tracing::warn!(error = %causes(&error), "{}", contracts::log::WEBHOOK_NOTICE_FAILED);
        }
    };
    Ok(due::walk(deps, budget, page, work).await?.done.len())
}
