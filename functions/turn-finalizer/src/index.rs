//! Updates the session index after a batch: indexes the changed sessions and backfills older ones.
//!
//! Returns the sessions that couldn't be indexed, so that their messages are retried. By then their turns are final, and
//! only the index is left to update. The circuit breaker keeps an unavailable database from delaying batches.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use contracts::{error::causes, id::OrgId};
use futures::{StreamExt, stream};
use protocol::id::SessionKey;
use tokio::time::timeout;
use turns::{
    flow::{backfill_index, index_session},
    ports::Unavailable,
};

use crate::app::App;

/// The number of sessions that are indexed concurrently.
const CONCURRENCY: usize = 4;

/// Indexes `sessions`, takes one backfill step for each of their orgs, and backfills the orgs of `backfill` until the
/// time is up. Returns the sessions that couldn't be indexed.
pub(crate) async fn update(
    app: &App,
    sessions: BTreeSet<SessionKey>,
    backfill: BTreeSet<OrgId>,
    budget: Duration,
) -> BTreeSet<SessionKey> {
    let (store, Some(index)) = (&app.adapters.store, &app.external.index) else { return BTreeSet::new() };
    let began = Instant::now();
    let remaining = || budget.saturating_sub(began.elapsed());
    let orgs: BTreeSet<OrgId> = sessions.iter().map(|session| session.org.clone()).collect();
    let indexed = stream::iter(sessions).map(|session| async {
        let outcome = timeout(remaining(), index_session(store, index, &session)).await;
        (!succeeded(outcome, &session.org)).then_some(session)
    });
    let missing: Vec<Option<SessionKey>> = indexed.buffer_unordered(CONCURRENCY).collect().await;
    for org in orgs.difference(&backfill) {
        succeeded(timeout(remaining(), backfill_index(store, index, org)).await, org);
    }
    for org in &backfill {
        loop {
            let outcome = timeout(remaining(), backfill_index(store, index, org)).await;
            let has_more = matches!(outcome, Ok(Ok(false)));
            if !succeeded(outcome, org) || !has_more {
                break;
            }
        }
    }
    missing.into_iter().flatten().collect()
}

/// True if the operation succeeded. Logs a failure. A failed backfill continues with a later turn.
fn succeeded<T>(outcome: Result<Result<T, Unavailable>, tokio::time::error::Elapsed>, org: &OrgId) -> bool {
    match outcome {
        Ok(Ok(_)) => return true,
        Ok(Err(error)) => {
            tracing::warn!(org = org.as_str(), error = %causes(&error), "{}", contracts::log::SESSION_INDEXING_FAILED);
        }
        Err(error) => {
            tracing::warn!(org = org.as_str(), error = %causes(&error), "{}", contracts::log::SESSION_INDEXING_FAILED);
        }
    }
    false
}
