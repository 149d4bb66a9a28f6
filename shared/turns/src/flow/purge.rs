//! Purge: what a deleted session left is removed, step by step (rule 12).
//!
//! A step counts what it found in the record of the purge, and then removes it: whoever dies between the two leaves
//! pieces that the record counted before, which are removed and not counted again. What providers keep of the turns is
//! told by the objects, so it is taken into the record before these go, and providers are asked behind that: one that is
//! away keeps nothing of ours from going. Nor does the index of sessions, which is asked last: whoever still wrote to it
//! from what is gone by now is behind it then.

use std::{collections::BTreeSet, time::Duration};

use agent::left_upstream;
use contracts::error::causes;
use futures::{StreamExt, TryStreamExt, future::try_join, stream};
use protocol::{
    id::SessionKey,
    payload::{Kind, Payload},
    purge::{Forgot, LeftUpstream, Piece, Purge, Stage},
    transition::purging::{self, Action},
};

use super::write::{self, Written};
use crate::ports::{
    Clock, DUE_SHARDS, Deps, ForgetSessions, PayloadReads, PurgePayloads, PurgeStore, Reads, Timer,
    Unavailable, UpstreamResponses, WriteError,
};

/// How many objects are read at once: each may be some megabytes.
const READ_AT_ONCE: usize = 4;

/// How many responses providers are asked to remove at once.
const ASKED_AT_ONCE: usize = 8;

/// How often a purge is decided anew because its record could not be written, or was written by somebody else.
const ROUNDS: usize = 8;

/// Purges sessions. It can remove what providers keep of their turns, and can ask them for nothing else.
#[derive(Debug)]
pub struct Purger<D, U, I> {
    deps: D,
    upstream: U,
    index: I,
}

impl<D, U, I> Purger<D, U, I>
where
    D: Deps<Store: PurgeStore, Payloads: PurgePayloads>,
    U: UpstreamResponses,
    I: ForgetSessions,
{
    /// Purges over these.
    #[must_use]
    pub fn new(deps: D, upstream: U, index: I) -> Self {
        Self { deps, upstream, index }
    }

    /// Goes on with the purge of a session for at most `budget`, as far as it can come by now. What a message or the
    /// index says is a hint. True once the session is purged.
    ///
    /// # Errors
    /// When a store can't be reached, or the record stayed contended.
    pub async fn purge(&self, key: &SessionKey, budget: Duration) -> Result<bool, Unavailable> {
        let (store, host, timing) = (self.deps.store(), self.deps.host(), self.deps.timing());
        let stop_at = host.monotonic().saturating_add(budget);
        let mut contended = 0;
        while contended < ROUNDS {
            let (session, record) = try_join(store.session(key), store.purge(key)).await?;
            let Some(record) = record else { return Ok(false) };
            let moved = match purging::action(session.as_ref(), &record, host.now(), timing) {
                Action::Rest => return Ok(record.stage == Stage::Done),
                Action::Note(noted) => {
                    self.write_record(&noted).await?;
                    return Ok(false);
                }
                Action::Begin(commit) => {
                    let begun = write::commit(&self.deps, &commit).await?;
                    let begun = matches!(begun, Written::Applied);
                    if begun {
                        tracing::info!(
                            org = key.org.as_str(),
                            session = key.session.as_str(),
                            action = "purge",
                            retention = true,
                            "audit"
                        );
                    }
                    begun
                }
                Action::Remove => self.remove_some(&record).await?,
            };
            contended = if moved { 0 } else { contended + 1 };
            if host.monotonic() >= stop_at {
                return Ok(false);
            }
        }
        Err(Unavailable { what: "the record of a purge", source: "it stayed contended".into() })
    }

    /// Looks for sessions whose purge is due, for at most `budget`, and goes on with each. How many were found.
    ///
    /// # Errors
    /// When the index can't be read. A single session that can't be purged is logged; the next sweep meets it again.
    pub async fn sweep(&self, budget: Duration) -> Result<usize, Unavailable> {
        let (store, host) = (self.deps.store(), self.deps.host());
        let stop_at = host.monotonic().saturating_add(budget);
        let mut found = 0;
        for shard in 0..DUE_SHARDS {
            let mut after = None;
            loop {
                let page = store.due_purges(shard, host.now(), after).await?;
                for key in &page.items {
                    let left = stop_at.saturating_sub(host.monotonic());
                    if left.is_zero() {
                        return Ok(found);
                    }
                    found += 1;
                    if let Err(error) = self.purge(key, left).await {
                        tracing::error!(error = %causes(&error), "a session could not be purged");
                    }
                }
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
        }
        Ok(found)
    }

    /// One step: items first, then objects, then what comes after. False when somebody else wrote the record.
    async fn remove_some(&self, record: &Purge) -> Result<bool, Unavailable> {
        let (store, payloads) = (self.deps.store(), self.deps.payloads());
        let items = store.items(&record.key).await?;
        if !items.is_empty() {
            let counted = self.counted(record, record.with_items(&items)).await?;
            if counted {
                store.remove_items(&record.key, &items).await?;
            }
            return Ok(counted);
        }
        if record.is_full() {
            return self.ask_upstream(record).await;
        }
        let versions = payloads.versions(&record.key).await?;
        if !versions.is_empty() {
            let upstream = self.told_upstream(record, &versions).await?;
            let counted = self.counted(record, record.with_objects(&versions, upstream)).await?;
            if counted {
                payloads.remove_versions(&versions).await?;
            }
            return Ok(counted);
        }
        if record.is_left_upstream() {
            return self.ask_upstream(record).await;
        }
        let forgot = self.index.forget(&record.key).await.unwrap_or_else(|error| {
            tracing::warn!(error = %causes(&error), "the index of sessions did not forget one");
            Forgot::No
        });
        let (now, timing) = (self.deps.host().now(), self.deps.timing());
        self.write_record(&purging::nothing_left(record, forgot, now, timing)).await
    }

    /// The responses that providers keep, as far as these objects tell of any.
    async fn told_upstream(
        &self,
        record: &Purge,
        versions: &[Piece],
    ) -> Result<BTreeSet<LeftUpstream>, Unavailable> {
        let telling = |payload: &&Payload| matches!(payload.kind, Kind::Outcome(_) | Kind::Step(..));
        let objects = record.uncounted(versions).filter_map(|piece| piece.payload.as_ref()).filter(telling);
        let objects: BTreeSet<Payload> = objects.cloned().collect();
        let read = stream::iter(objects).map(|payload| async move {
            let object = self.deps.payloads().get(&payload).await?;
            Ok(object.and_then(|bytes| left_upstream::of_object(&bytes)))
        });
        let told: Vec<Option<LeftUpstream>> = read.buffer_unordered(READ_AT_ONCE).try_collect().await?;
        Ok(told.into_iter().flatten().collect())
    }

    /// Asks providers to remove some of the responses that they keep.
    async fn ask_upstream(&self, record: &Purge) -> Result<bool, Unavailable> {
        let asked = stream::iter(record.asks_for().to_vec()).map(|response| async move {
            let removed = self.upstream.remove(&response).await;
            removed.err().map(|error| {
                tracing::warn!(error = %causes(&error), "a provider did not remove a response");
                response
            })
        });
        let still: Vec<Option<LeftUpstream>> = asked.buffer_unordered(ASKED_AT_ONCE).collect().await;
        let (now, timing) = (self.deps.host().now(), self.deps.timing());
        let still = still.into_iter().flatten().collect();
        self.write_record(&purging::asked_upstream(record, still, now, timing)).await
    }

    /// Whether the record says what was found. It may have said so before.
    async fn counted(&self, before: &Purge, after: Purge) -> Result<bool, Unavailable> {
        if after == *before { Ok(true) } else { self.write_record(&after).await }
    }

    /// Writes the record; false when it has to be read again to know.
    async fn write_record(&self, record: &Purge) -> Result<bool, Unavailable> {
        match self.deps.store().write_purge(record).await {
            Ok(()) => Ok(true),
            Err(WriteError::Lost | WriteError::Contended | WriteError::Unknown(_)) => Ok(false),
        }
    }
}
