//! The index of sessions after a batch: what changed, and a step of what was there before the index.
//!
//! What could not be indexed is told, so that its messages come again: by then their turns are final, and nothing but the
//! index is left to do. A database that is away is soon not asked any more, so it holds nobody up.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use contracts::{error::causes, id::OrgId};
use futures::{StreamExt, stream};
use protocol::id::SessionKey;
use tokio::time::timeout;
use turns::ports::Unavailable;

use crate::app::App;

/// How many sessions are indexed at a time.
const AT_A_TIME: usize = 4;

/// Indexes these sessions and goes on with their orgs', and fills in those of `fill` as long as there is time. Which
/// sessions could not be indexed.
pub(crate) async fn indexed(
    app: &App,
    sessions: BTreeSet<SessionKey>,
    fill: BTreeSet<OrgId>,
    budget: Duration,
) -> BTreeSet<SessionKey> {
    let Some(indexer) = &app.indexer else { return BTreeSet::new() };
    let began = Instant::now();
    let left = || budget.saturating_sub(began.elapsed());
    let steps: BTreeSet<OrgId> = sessions.iter().map(|session| session.org.clone()).collect();
    let indexed = stream::iter(sessions).map(|session| async {
        let done = timeout(left(), indexer.index(&session)).await;
        (!is_done(done, &session.org)).then_some(session)
    });
    let missing: Vec<Option<SessionKey>> = indexed.buffer_unordered(AT_A_TIME).collect().await;
    for org in steps.difference(&fill) {
        is_done(timeout(left(), indexer.fill(org)).await, org);
    }
    for org in &fill {
        loop {
            let done = timeout(left(), indexer.fill(org)).await;
            let goes_on = matches!(done, Ok(Ok(false)));
            if !is_done(done, org) || !goes_on {
                break;
            }
        }
    }
    missing.into_iter().flatten().collect()
}

/// Whether it was done; the log says what was not. What was there before the index is filled in with a later turn.
fn is_done<T>(done: Result<Result<T, Unavailable>, tokio::time::error::Elapsed>, org: &OrgId) -> bool {
    match done {
        Ok(Ok(_)) => return true,
        Ok(Err(error)) => {
            tracing::warn!(org = org.as_str(), error = %causes(&error), "a session could not be indexed");
        }
        Err(error) => {
            tracing::warn!(org = org.as_str(), error = %causes(&error), "a session could not be indexed");
        }
    }
    false
}
