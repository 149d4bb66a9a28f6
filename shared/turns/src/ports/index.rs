//! The index of sessions: which of an org's sessions may hold words. It says where to look, and nothing else: what is
//! shown, and to whom, is the table's to say.

use std::{collections::BTreeSet, future::Future};

use contracts::{
    Timestamp,
    id::{OrgId, SessionId, UserId},
};
use protocol::{id::SessionKey, purge::Forgot};

use super::{Between, Unavailable};

/// The index, for whoever searches.
pub trait SessionIndex: Send + Sync {
    /// Sessions that may be meant. None where not every session of the org is in the index yet.
    fn candidates(
        &self,
        sought: &Sought<'_>,
    ) -> impl Future<Output = Result<Option<Candidates>, Unavailable>> + Send;
}

/// The index, for whoever keeps it.
pub trait IndexSessions: ForgetSessions {
    /// Puts sessions into their places, whatever is there.
    fn put(&self, sessions: &[Indexed]) -> impl Future<Output = Result<(), Unavailable>> + Send;
    /// How far the index is filled with the sessions of an org that were there before it.
    fn filled(&self, org: &OrgId) -> impl Future<Output = Result<Filled, Unavailable>> + Send;
    /// Notes that.
    fn note_filled(
        &self,
        org: &OrgId,
        filled: &Filled,
    ) -> impl Future<Output = Result<(), Unavailable>> + Send;
}

/// The index, for whoever purges.
pub trait ForgetSessions: Send + Sync {
    /// Removes a session. One that is not there is removed.
    fn forget(&self, session: &SessionKey) -> impl Future<Output = Result<Forgot, Unavailable>> + Send;
}

/// What is looked for.
#[derive(Debug)]
pub struct Sought<'a> {
    /// Whose sessions.
    pub org: &'a OrgId,
    /// Those that this user takes part in.
    pub user: Option<&'a UserId>,
    /// Those whose last activity lies there.
    pub active: Between,
    /// Those that hold all of these, see [`crate::terms`].
    pub terms: &'a BTreeSet<String>,
}

/// Where to look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Candidates {
    /// The newest, in any order.
    pub sessions: Vec<Candidate>,
    /// Whether these are all. Of others each is older than every one of these.
    pub are_all: bool,
}

/// A session as the index knows it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// When it was last active.
    pub last_activity: Timestamp,
    /// Which.
    pub session: SessionId,
}

/// What the index is told of a session. Terms, and no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Indexed {
    /// Which.
    pub key: SessionKey,
    /// When it was last active.
    pub last_activity: Timestamp,
    /// Who takes part in it.
    pub users: BTreeSet<UserId>,
    /// What it is found by.
    pub terms: BTreeSet<String>,
}

/// How far the index is filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filled {
    /// Not at all.
    Nothing,
    /// To a place in the list of the org's sessions.
    To(String),
    /// Every session that was there before the index is in it; others come with their turns.
    Whole,
}

/// Where there is none, no search asks it.
impl<I: SessionIndex> SessionIndex for Option<I> {
    async fn candidates(&self, sought: &Sought<'_>) -> Result<Option<Candidates>, Unavailable> {
        match self {
            Some(index) => index.candidates(sought).await,
            None => Ok(None),
        }
    }
}

/// Where there is none, nothing is to be removed.
impl<I: ForgetSessions> ForgetSessions for Option<I> {
    async fn forget(&self, session: &SessionKey) -> Result<Forgot, Unavailable> {
        match self {
            Some(index) => index.forget(session).await,
            None => Ok(Forgot::NoIndex),
        }
    }
}
