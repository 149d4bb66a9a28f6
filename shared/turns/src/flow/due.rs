//! Due work in the shards of a sparse index. All shards are walked at once, so that one with trouble delays no other.

use std::time::Duration;

use contracts::{Timestamp, error::causes};
use futures::future::join_all;

use crate::ports::{DUE_SHARDS, Deps, Host, Page, Timer, Unavailable};

/// The result of a walk.
pub(crate) struct Walk<T> {
    /// The results of the work, by shard.
    pub(crate) done: Vec<T>,
    /// True if the time ran out first.
    pub(crate) timed_out: bool,
}

/// Does the work of every due item, oldest first in each shard, for at most `budget`. `work` gets the time that is left.
///
/// # Errors
/// If no shard can be read. The failure of some of them is logged, and the next walk reads them again.
pub(crate) async fn walk<K, T, P, W>(
    deps: &impl Deps,
    budget: Duration,
    page: impl Fn(u8, Timestamp, Option<String>) -> P,
    work: impl Fn(K, Duration) -> W,
) -> Result<Walk<T>, Unavailable>
where
    P: Future<Output = Result<Page<K>, Unavailable>>,
    W: Future<Output = T>,
{
    let host = deps.host();
    let stop_at = host.monotonic().saturating_add(budget);
    let left = || stop_at.saturating_sub(host.monotonic());
    let (page, work, left) = (&page, &work, &left);
    let shards = (0..DUE_SHARDS).map(|shard| async move {
        let mut walk = Walk { done: Vec::new(), timed_out: false };
        let mut after = None;
        loop {
            let due = match page(shard, host.now(), after).await {
                Ok(due) => due,
                Err(error) => return (walk, Some(error)),
            };
            for item in due.items {
                if left().is_zero() {
                    return (Walk { timed_out: true, ..walk }, None);
                }
                walk.done.push(work(item, left()).await);
            }
            after = due.next;
            if after.is_none() {
                return (walk, None);
            }
        }
    });
    let mut all = Walk { done: Vec::new(), timed_out: false };
    let (mut failed, mut last) = (0, None);
    for (walk, error) in join_all(shards).await {
        all.done.extend(walk.done);
        all.timed_out |= walk.timed_out;
        if let Some(error) = error {
            tracing::error!(error = %causes(&error), "{}", contracts::log::DUE_SHARD_UNREADABLE);
            failed += 1;
            last = Some(error);
        }
    }
    match last {
        Some(error) if failed == DUE_SHARDS => Err(error),
        _ => Ok(all),
    }
}
