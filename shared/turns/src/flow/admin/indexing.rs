//! Maintains the index of sessions, if the deployment has one.
//!
//! An entry is derived from the table alone, so it can be rebuilt by anyone at any time. It is written when a turn
//! ends, and when a session is renamed, forked or imported. Sessions older than the index are backfilled in batches,
//! newest first. Until the backfill completes, searches in the org don't use the index. Nothing here writes to the table.

use std::collections::BTreeSet;

use contracts::id::OrgId;
use futures::future::try_join;
use protocol::{id::SessionKey, session::Session};

use crate::{
    ports::{
        Archive, Backfill, Indexed, ListError, Page, Reads, Record, SessionIndex, TimeRange, Unavailable,
    },
    text_search::{MAX_TERMS, add_terms},
};

/// The number of turns to read at a time.
const TURNS_PAGE_SIZE: usize = 100;

/// The most users of a session that the index contains.
const MAX_USERS: usize = 1_000;

/// The most times a session is read again because it changes while it is indexed. Its last change triggers indexing
/// anyway.
const MAX_TRIES: usize = 3;

/// The number of sessions per backfill batch.
const BACKFILL_BATCH: usize = 25;

/// Indexes a session in its current state, or removes its entry if the session is gone.
///
/// # Errors
/// If the table or the index can't be reached.
pub async fn index_session(
    store: &(impl Reads + Archive),
    index: &impl SessionIndex,
    key: &SessionKey,
) -> Result<(), Unavailable> {
    for _ in 0..MAX_TRIES {
        let Some((rev, entry)) = entry(store, key).await? else {
            return index.delete(key).await.map(drop);
        };
        index.put(&[entry]).await?;
        if is_unchanged(store, key, rev).await? {
            break;
        }
    }
    Ok(())
}

/// True if a session hasn't changed since it was read. If it has, the entry just written may have replaced a
/// newer one. If it hasn't, any later change is indexed after this entry.
async fn is_unchanged(store: &impl Reads, key: &SessionKey, rev: u64) -> Result<bool, Unavailable> {
    Ok(store.session(key).await?.is_some_and(|session| session.rev == rev))
}

/// Backfills the next batch of an org's sessions that are older than the index. Returns true once all are
/// indexed.
///
/// # Errors
/// If the table or the index can't be reached.
pub async fn backfill_index(
    store: &(impl Reads + Archive),
    index: &impl SessionIndex,
    org: &OrgId,
) -> Result<bool, Unavailable> {
    let from = match index.backfill(org).await? {
        Backfill::Complete => return Ok(true),
        Backfill::UpTo(token) => Some(token),
        Backfill::NotStarted => None,
    };
    let page = match sessions_page(store, org, from).await {
        // The stored token is no longer valid: start over.
        Err(ListError::InvalidToken) => sessions_page(store, org, None).await,
        page => page,
    };
    let page = page.map_err(|error| match error {
        ListError::Unavailable(unavailable) => unavailable,
        ListError::InvalidToken => Unavailable { what: "the list of sessions", source: error.into() },
    })?;
    let (mut entries, mut read) = (Vec::new(), Vec::new());
    for session in &page.items {
        if let Some((rev, entry)) = entry(store, &session.key).await? {
            read.push((entry.key.clone(), rev));
            entries.push(entry);
        }
    }
    index.put(&entries).await?;
    for (key, rev) in read {
        if !is_unchanged(store, &key, rev).await? {
            index_session(store, index, &key).await?;
        }
    }
    let filled = page.next.map_or(Backfill::Complete, Backfill::UpTo);
    index.set_backfill(org, &filled).await?;
    let whole = filled == Backfill::Complete;
    tracing::info!(
        org = org.as_str(),
        sessions = page.items.len(),
        whole,
        "{}",
        contracts::log::SESSIONS_INDEXED
    );
    Ok(whole)
}

async fn sessions_page(
    store: &impl Reads,
    org: &OrgId,
    from: Option<String>,
) -> Result<Page<Session>, ListError> {
    store.sessions(org, None, &TimeRange::default(), BACKFILL_BATCH, from).await
}

/// Builds a session's entry, and returns it with the revision that it reflects. `None` if the session is gone.
async fn entry(
    store: &(impl Reads + Archive),
    key: &SessionKey,
) -> Result<Option<(u64, Indexed)>, Unavailable> {
    let session = store.session(key).await?.filter(|session| !session.is_purged());
    let Some(session) = session else { return Ok(None) };
    let mut entry = Indexed {
        key: key.clone(),
        last_activity: session.last_activity,
        users: [session.owner.id.clone()].into(),
        terms: BTreeSet::new(),
    };
    for text in [&session.name].into_iter().chain(&session.description) {
        add_terms(text, &mut entry.terms);
    }
    let last = session.last_turn.as_ref().map(|last| key.turn(last.id.clone()));
    let last = async {
        match &last {
            // The list of turns may not contain the latest turn yet.
            Some(last) => store.record(last).await,
            None => Ok(None),
        }
    };
    let (last, users) = try_join(last, store.participants(key, MAX_USERS)).await?;
    entry.users.extend(users.into_iter().map(|participant| participant.user));
    last.iter().for_each(|record| add_texts(record, &mut entry));
    let mut after = None;
    loop {
        let page = store.walk(key, after.as_ref(), TURNS_PAGE_SIZE).await?;
        page.items.iter().for_each(|record| add_texts(record, &mut entry));
        let next = page.next.and_then(|next| next.parse().ok());
        if next.is_none() || entry.terms.len() >= MAX_TERMS {
            return Ok(Some((session.rev, entry)));
        }
        after = next;
    }
}

fn add_texts(record: &Record, entry: &mut Indexed) {
    let answer = record.result.as_ref().and_then(|result| result.report.answer_summary.as_ref());
    for text in [&record.request.instruction_summary].into_iter().chain(answer) {
        add_terms(text, &mut entry.terms);
    }
}
