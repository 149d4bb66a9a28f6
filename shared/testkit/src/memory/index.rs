//! The index of sessions.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use contracts::id::OrgId;
use protocol::{id::SessionKey, purge::DeleteOutcome};
use turns::ports::{Backfill, Candidate, Candidates, IndexQuery, Indexed, SessionIndex, Unavailable};

/// The index. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Index(Arc<Mutex<Contents>>);

/// The content of the index, and its behaviour.
#[derive(Debug, Default)]
pub struct Contents {
    pub sessions: BTreeMap<SessionKey, Indexed>,
    pub backfill: BTreeMap<OrgId, Backfill>,
    /// Set if the index is unreachable.
    pub is_down: bool,
    /// The most candidates per query. 0 means no limit.
    pub limit: usize,
}

impl Index {
    pub fn contents(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ensure_reachable(&self) -> Result<MutexGuard<'_, Contents>, Unavailable> {
        let contents = self.contents();
        if contents.is_down {
            return Err(Unavailable { what: "the index of sessions", source: "it is down".into() });
        }
        Ok(contents)
    }
}

impl SessionIndex for Index {
    async fn candidates(&self, query: &IndexQuery<'_>) -> Result<Option<Candidates>, Unavailable> {
        let contents = self.ensure_reachable()?;
        if contents.backfill.get(query.org) != Some(&Backfill::Complete) {
            return Ok(None);
        }
        let meant = contents.sessions.values().filter(|one| {
            one.key.org == *query.org
                && query.user.is_none_or(|user| one.users.contains(user))
                && query.active.contains(one.last_activity)
                && query.terms.is_subset(&one.terms)
        });
        let mut sessions: Vec<Candidate> = meant
            .map(|one| Candidate { last_activity: one.last_activity, session: one.key.session.clone() })
            .collect();
        sessions.sort_by(|one, other| other.cmp(one));
        let is_complete = contents.limit == 0 || sessions.len() <= contents.limit;
        if !is_complete {
            sessions.truncate(contents.limit);
        }
        Ok(Some(Candidates { sessions, is_complete }))
    }

    async fn put(&self, sessions: &[Indexed]) -> Result<(), Unavailable> {
        let sessions = sessions.iter().map(|session| (session.key.clone(), session.clone()));
        self.ensure_reachable()?.sessions.extend(sessions);
        Ok(())
    }

    async fn backfill(&self, org: &OrgId) -> Result<Backfill, Unavailable> {
        Ok(self.ensure_reachable()?.backfill.get(org).cloned().unwrap_or(Backfill::NotStarted))
    }

    async fn set_backfill(&self, org: &OrgId, backfill: &Backfill) -> Result<(), Unavailable> {
        self.ensure_reachable()?.backfill.insert(org.clone(), backfill.clone());
        Ok(())
    }

    async fn delete(&self, session: &SessionKey) -> Result<DeleteOutcome, Unavailable> {
        self.ensure_reachable()?.sessions.remove(session);
        Ok(DeleteOutcome::Deleted)
    }
}
