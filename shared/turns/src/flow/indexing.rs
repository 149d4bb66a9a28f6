//! Indexing: what sessions are found by is put into the index of sessions, where there is one.
//!
//! An entry follows from what the table has of its session, whoever makes it and however often. It is made when a turn of
//! the session is over, and when it was renamed, forked or imported. The sessions that were there before the index come
//! in step by step, newest first; until they all are in, the org is searched without it.

use std::collections::BTreeSet;

use contracts::{error::causes, id::OrgId};
use futures::future::try_join;
use protocol::{announcement::FinalizeMessage, id::SessionKey, session::Session};

use super::executor::Executor;
use crate::{
    ports::{
        AgentDeps, Archive, Between, Filled, FinalizeQueue, IndexSessions, Indexed, ListError, Page, Reads,
        Record, Unavailable,
    },
    terms::{MOST_TERMS, add_terms},
};

/// How many turns of a session are read together.
const TURNS_PAGE: usize = 100;

/// How many users of a session the index knows.
const MOST_USERS: usize = 1_000;

/// How often a session is read anew that changes while it is indexed. What changes it last has it indexed besides.
const ROUNDS: usize = 3;

/// How many sessions a step fills in.
const FILLED_A_STEP: usize = 25;

/// Keeps the index of sessions. It reads the table and writes nothing to it.
#[derive(Debug)]
pub struct Indexer<R, I> {
    store: R,
    index: I,
}

impl<R: Reads + Archive, I: IndexSessions> Indexer<R, I> {
    /// Keeps this index of what is stored there.
    #[must_use]
    pub fn new(store: R, index: I) -> Self {
        Self { store, index }
    }

    /// Puts a session into the index as it is now; takes one out that is gone.
    ///
    /// # Errors
    /// When the table or the index can't be reached.
    pub async fn index(&self, key: &SessionKey) -> Result<(), Unavailable> {
        for _ in 0..ROUNDS {
            let Some((rev, entry)) = self.entry(key).await? else {
                return self.index.forget(key).await.map(drop);
            };
            self.index.put(&[entry]).await?;
            if self.stands(key, rev).await? {
                break;
            }
        }
        Ok(())
    }

    /// Whether a session is as it was read. Where it is not, what was put may have taken the place of something newer;
    /// where it is, whatever changes it from here on is put behind this.
    async fn stands(&self, key: &SessionKey, rev: u64) -> Result<bool, Unavailable> {
        Ok(self.store.session(key).await?.is_some_and(|session| session.rev == rev))
    }

    /// Fills in some of an org's sessions that were there before the index. True once all are in.
    ///
    /// # Errors
    /// When the table or the index can't be reached.
    pub async fn fill(&self, org: &OrgId) -> Result<bool, Unavailable> {
        let from = match self.index.filled(org).await? {
            Filled::Whole => return Ok(true),
            Filled::To(place) => Some(place),
            Filled::Nothing => None,
        };
        let page = match self.page(org, from).await {
            // What is no place of the list any more: from the beginning.
            Err(ListError::BadToken) => self.page(org, None).await,
            page => page,
        };
        let page = page.map_err(|error| match error {
            ListError::Unavailable(unavailable) => unavailable,
            ListError::BadToken => Unavailable { what: "the list of sessions", source: error.into() },
        })?;
        let (mut entries, mut read) = (Vec::new(), Vec::new());
        for session in &page.items {
            if let Some((rev, entry)) = self.entry(&session.key).await? {
                read.push((entry.key.clone(), rev));
                entries.push(entry);
            }
        }
        self.index.put(&entries).await?;
        for (key, rev) in read {
            if !self.stands(&key, rev).await? {
                self.index(&key).await?;
            }
        }
        let filled = page.next.map_or(Filled::Whole, Filled::To);
        self.index.note_filled(org, &filled).await?;
        let whole = filled == Filled::Whole;
        tracing::info!(org = org.as_str(), sessions = page.items.len(), whole, "sessions indexed");
        Ok(whole)
    }

    async fn page(&self, org: &OrgId, from: Option<String>) -> Result<Page<Session>, ListError> {
        self.store.sessions(org, None, &Between::default(), FILLED_A_STEP, from).await
    }

    /// What a session is found by, at which of its revisions; none where it is gone.
    async fn entry(&self, key: &SessionKey) -> Result<Option<(u64, Indexed)>, Unavailable> {
        let session = self.store.session(key).await?.filter(|session| !session.is_purged());
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
                // A walk may not see yet what was written a moment ago.
                Some(last) => self.store.record(last).await,
                None => Ok(None),
            }
        };
        let (last, users) = try_join(last, self.store.participants(key, MOST_USERS)).await?;
        entry.users.extend(users.into_iter().map(|participant| participant.user));
        last.iter().for_each(|record| add_texts(record, &mut entry));
        let mut after = None;
        loop {
            let page = self.store.walk(key, after.as_ref(), TURNS_PAGE).await?;
            page.items.iter().for_each(|record| add_texts(record, &mut entry));
            let next = page.next.and_then(|next| next.parse().ok());
            if next.is_none() || entry.terms.len() >= MOST_TERMS {
                return Ok(Some((session.rev, entry)));
            }
            after = next;
        }
    }
}

fn add_texts(record: &Record, entry: &mut Indexed) {
    let answer = record.result.as_ref().and_then(|result| result.report.answer_summary.as_ref());
    for text in [&record.request.instruction_summary].into_iter().chain(answer) {
        add_terms(text, &mut entry.terms);
    }
}

impl<D: AgentDeps> Executor<D> {
    /// Says that a session is found by something else now, where there is an index.
    pub(super) async fn tell_index(&self, key: &SessionKey) {
        if !self.deps.config().sessions_are_indexed {
            return;
        }
        let (org, session) = (key.org.clone(), Some(key.session.clone()));
        if let Err(error) = self.deps.queue().send(&FinalizeMessage::SessionIndex { org, session }).await {
            // It is indexed with its next turn.
            tracing::warn!(error = %causes(&error), "a session's index could not be announced");
        }
    }
}
