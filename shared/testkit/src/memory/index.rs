//! The index of sessions.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use contracts::id::OrgId;
use protocol::{id::SessionKey, purge::Forgot};
use turns::ports::{
    Candidate, Candidates, Filled, ForgetSessions, IndexSessions, Indexed, SessionIndex, Sought, Unavailable,
};

/// The index. Handles share it.
#[derive(Debug, Clone, Default)]
pub struct Index(Arc<Mutex<Contents>>);

/// What the index holds, and how it behaves.
#[derive(Debug, Default)]
pub struct Contents {
    pub sessions: BTreeMap<SessionKey, Indexed>,
    pub filled: BTreeMap<OrgId, Filled>,
    /// Nobody reaches it.
    pub is_down: bool,
    /// How many candidates it tells at once; 0 is all.
    pub most: usize,
}

impl Index {
    pub fn contents(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reached(&self) -> Result<MutexGuard<'_, Contents>, Unavailable> {
        let contents = self.contents();
        if contents.is_down {
            return Err(Unavailable { what: "the index of sessions", source: "it is down".into() });
        }
        Ok(contents)
    }
}

impl SessionIndex for Index {
    async fn candidates(&self, sought: &Sought<'_>) -> Result<Option<Candidates>, Unavailable> {
        let contents = self.reached()?;
        if contents.filled.get(sought.org) != Some(&Filled::Whole) {
            return Ok(None);
        }
        let meant = contents.sessions.values().filter(|one| {
            one.key.org == *sought.org
                && sought.user.is_none_or(|user| one.users.contains(user))
                && sought.active.holds(one.last_activity)
                && sought.terms.is_subset(&one.terms)
        });
        let mut sessions: Vec<Candidate> = meant
            .map(|one| Candidate { last_activity: one.last_activity, session: one.key.session.clone() })
            .collect();
        sessions.sort_by(|one, other| other.cmp(one));
        let are_all = contents.most == 0 || sessions.len() <= contents.most;
        if !are_all {
            sessions.truncate(contents.most);
        }
        Ok(Some(Candidates { sessions, are_all }))
    }
}

impl IndexSessions for Index {
    async fn put(&self, sessions: &[Indexed]) -> Result<(), Unavailable> {
        let sessions = sessions.iter().map(|session| (session.key.clone(), session.clone()));
        self.reached()?.sessions.extend(sessions);
        Ok(())
    }

    async fn filled(&self, org: &OrgId) -> Result<Filled, Unavailable> {
        Ok(self.reached()?.filled.get(org).cloned().unwrap_or(Filled::Nothing))
    }

    async fn note_filled(&self, org: &OrgId, filled: &Filled) -> Result<(), Unavailable> {
        self.reached()?.filled.insert(org.clone(), filled.clone());
        Ok(())
    }
}

impl ForgetSessions for Index {
    async fn forget(&self, session: &SessionKey) -> Result<Forgot, Unavailable> {
        self.reached()?.sessions.remove(session);
        Ok(Forgot::Yes)
    }
}
