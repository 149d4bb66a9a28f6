//! Purges deleted sessions step by step (rule 12).
//!
//! Each step counts a batch in the purge record, and then removes it. If the process dies in between, the next step
//! finds the batch already counted and only removes it. The turn that was open at the start is finalized first, since its
//! objects tell what it used. The responses that providers store are listed only in the
//! objects, so the record takes them over before the objects are removed. Providers are asked afterwards, so an
//! unreachable provider doesn't keep any of our own data. The session index comes last, when no source of new entries
//! is left.

use std::{collections::BTreeSet, time::Duration};

use agent::outcome::provider_response;
use contracts::error::causes;
use futures::future::{join_all, try_join, try_join_all};
use protocol::{
    id::SessionKey,
    payload::{Kind, Payload},
    purge::{DeleteOutcome, ProviderResponseRef, Purge, PurgeEntry, Stage},
    transition::purging::{self, Action},
};

use crate::flow::{
    due,
    finish::finalize::finalize_turn,
    write::{self, Tried, WriteOutcome},
};
use crate::ports::{
    Deps, Host, PayloadReads, Payloads, ProviderResponses, Reads, SessionIndex, Store, Timer, Unavailable,
    WriteError,
};

/// The number of objects to read concurrently. Each may be a few megabytes.
const MAX_CONCURRENT_READS: usize = 4;

/// The number of provider responses to remove concurrently.
const MAX_CONCURRENT_REMOVALS: usize = 8;

/// The result of a step of a purge.
enum Step {
    /// More steps follow.
    Progressed,
    /// There is nothing to do for now. True if the session is purged.
    Ended(bool),
}

/// The stores outside the deployment that contain data of a session.
#[derive(Debug)]
pub struct External<U, I> {
    /// The responses that model providers store.
    pub providers: U,
    /// The index of sessions.
    pub index: I,
}

/// Continues the purge of a session for at most `budget`, as far as it can get for now. The message or index
/// entry that names the session is only a hint. Returns true once the session is purged.
///
/// # Errors
/// If a store can't be reached, or the record stays contended.
pub async fn purge_session(
    deps: &impl Deps,
    external: &External<impl ProviderResponses, impl SessionIndex>,
    key: &SessionKey,
    budget: Duration,
) -> Result<bool, Unavailable> {
    let host = deps.host();
    let stop_at = host.monotonic().saturating_add(budget);
    loop {
        let step = write::decide(host, || step(deps, external, key)).await?;
        match step {
            Step::Ended(is_purged) => return Ok(is_purged),
            Step::Progressed if host.monotonic() >= stop_at => return Ok(false),
            Step::Progressed => {}
        }
    }
}

/// Tries the next step of a purge.
async fn step(
    deps: &impl Deps,
    external: &External<impl ProviderResponses, impl SessionIndex>,
    key: &SessionKey,
) -> Result<Tried<Step>, Unavailable> {
    let (store, host, timing) = (deps.store(), deps.host(), deps.timing());
    let (session, record) = try_join(store.session(key), store.purge(key)).await?;
    let Some(record) = record else { return Ok(Tried::Done(Step::Ended(false))) };
    let open = match session.as_ref().and_then(|session| session.open_turn.clone()) {
        Some(open) => store.turn(&key.turn(open)).await?,
        None => None,
    };
    let progressed = match purging::action(session.as_ref(), open.as_ref(), &record, host.now(), timing) {
        Action::Idle => return Ok(Tried::Done(Step::Ended(record.stage == Stage::Done))),
        Action::Reschedule(noted) => {
            write_record(store, &noted).await?;
            return Ok(Tried::Done(Step::Ended(false)));
        }
        Action::Begin(commit) => {
            let written = write::commit(deps, &commit).await?;
            if let WriteOutcome::Applied = written {
                let (org, session) = (key.org.as_str(), key.session.as_str());
                let retention = true;
                tracing::info!(org, session, action = "purge", retention, "{}", contracts::log::AUDIT);
            }
            return Ok(written.done(Step::Progressed));
        }
        Action::Reclaim(commit) => {
            return Ok(write::commit(deps, &commit).await?.done(Step::Progressed));
        }
        Action::Finalize(turn) => finalize_turn(deps, &external.providers, &key.turn(turn)).await?.is_done(),
        Action::Remove => remove_batch(deps, external, &record).await?,
    };
    Ok(if progressed { Tried::Done(Step::Progressed) } else { Tried::Conflict })
}

/// Finds sessions whose purge is due, and continues each, for at most `budget`. Returns the number found.
///
/// # Errors
/// If the index can't be read. A failure of a single session is logged, and the next sweep retries it.
pub async fn sweep_purges(
    deps: &impl Deps,
    external: &External<impl ProviderResponses, impl SessionIndex>,
    budget: Duration,
) -> Result<usize, Unavailable> {
    let store = deps.store();
    let page = |shard, now, after| store.due_purges(shard, now, after);
    let work = |key: SessionKey, left: Duration| async move {
        if let Err(error) = purge_session(deps, external, &key, left).await {
            let (org, session) = (key.org.as_str(), key.session.as_str());
            tracing::error!(org, session, error = %causes(&error), "{}", contracts::log::PURGE_FAILED);
        }
    };
    Ok(due::walk(deps, budget, page, work).await?.done.len())
}

/// Removes one batch: items first, then objects, then provider responses and the index entry. Returns false if
/// someone else wrote the record.
async fn remove_batch(
    deps: &impl Deps,
    external: &External<impl ProviderResponses, impl SessionIndex>,
    record: &Purge,
) -> Result<bool, Unavailable> {
    let (store, payloads) = (deps.store(), deps.payloads());
    let items = store.items(&record.key).await?;
    if !items.is_empty() {
        let counted = record_counts(store, record, record.with_items(&items)).await?;
        if counted {
            store.remove_items(&record.key, &items).await?;
        }
        return Ok(counted);
    }
    if record.is_full() {
        return remove_provider_responses(deps, &external.providers, record).await;
    }
    let versions = payloads.versions(&record.key).await?;
    if !versions.is_empty() {
        let upstream = find_provider_responses(payloads, record, &versions).await?;
        let counted = record_counts(store, record, record.with_objects(&versions, upstream)).await?;
        if counted {
            payloads.remove_versions(&versions).await?;
        }
        return Ok(counted);
    }
    if record.has_provider_responses() {
        return remove_provider_responses(deps, &external.providers, record).await;
    }
    let index_deletion = external.index.delete(&record.key).await.unwrap_or_else(|error| {
        tracing::warn!(error = %causes(&error), "{}", contracts::log::INDEX_REMOVAL_FAILED);
        DeleteOutcome::Retained
    });
    let (now, timing) = (deps.host().now(), deps.timing());
    write_record(store, &purging::after_empty_pass(record, index_deletion, now, timing)).await
}

/// Finds the provider responses that these objects refer to.
async fn find_provider_responses(
    payloads: &impl PayloadReads,
    record: &Purge,
    versions: &[PurgeEntry],
) -> Result<BTreeSet<ProviderResponseRef>, Unavailable> {
    let may_refer =
        |payload: &&Payload| matches!(payload.kind, Kind::Outcome(_) | Kind::Step(..) | Kind::Round(..));
    let objects = record.uncounted(versions).filter_map(|piece| piece.payload.as_ref()).filter(may_refer);
    let objects: Vec<Payload> = objects.cloned().collect::<BTreeSet<_>>().into_iter().collect();
    let mut responses = BTreeSet::new();
    for batch in objects.chunks(MAX_CONCURRENT_READS) {
        let read = batch.iter().map(|payload| async move {
            let object = payloads.get(payload).await?;
            Ok::<_, Unavailable>(object.and_then(|bytes| provider_response::find_in_object(&bytes)))
        });
        responses.extend(try_join_all(read).await?.into_iter().flatten());
    }
    Ok(responses)
}

/// Asks providers to remove a batch of their stored responses.
async fn remove_provider_responses(
    deps: &impl Deps,
    upstream: &impl ProviderResponses,
    record: &Purge,
) -> Result<bool, Unavailable> {
    let mut remaining = Vec::new();
    for batch in record.provider_batch().chunks(MAX_CONCURRENT_REMOVALS) {
        let removals = batch.iter().map(|response| async move {
            let removed = upstream.remove(response).await;
            removed.err().map(|error| {
                tracing::warn!(error = %causes(&error), "{}", contracts::log::PROVIDER_RESPONSE_NOT_REMOVED);
                response.clone()
            })
        });
        remaining.extend(join_all(removals).await.into_iter().flatten());
    }
    let (now, timing) = (deps.host().now(), deps.timing());
    write_record(deps.store(), &purging::after_provider_batch(record, remaining, now, timing)).await
}

/// Writes the counts to the record, unless it contains them already. Returns true if it does now.
async fn record_counts(store: &impl Store, before: &Purge, after: Purge) -> Result<bool, Unavailable> {
    if after == *before { Ok(true) } else { write_record(store, &after).await }
}

/// Writes the record. Returns false if it has to be read again.
async fn write_record(store: &impl Store, record: &Purge) -> Result<bool, Unavailable> {
    match store.write_purge(record).await {
        Ok(()) => Ok(true),
        Err(WriteError::ConditionFailed | WriteError::Contended | WriteError::Unknown(_)) => Ok(false),
    }
}
