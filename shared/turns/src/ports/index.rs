//! The index of sessions. It finds an org's sessions that may match a search. The table alone decides what is shown,
//! and to whom.

use std::{collections::BTreeSet, future::Future};

use contracts::{
    Timestamp,
    id::{OrgId, SessionId, UserId},
};
use protocol::{id::SessionKey, purge::DeleteOutcome};

use super::{errors::Unavailable, store::TimeRange};

/// Searches the index.
pub trait SessionIndex: Send + Sync {
    /// Returns sessions that may match. `None` while the index doesn't contain every session of the org.
    fn candidates(
        &self,
        query: &IndexQuery<'_>,
    ) -> impl Future<Output = Result<Option<Candidates>, Unavailable>> + Send;
}

/// Writes to the index.
pub trait SessionIndexWriter: SessionIndexRemover {
    /// Writes entries, replacing existing ones.
    fn put(&self, sessions: &[Indexed]) -> impl Future<Output = Result<(), Unavailable>> + Send;
    /// Returns the progress of the backfill with the org's sessions that are older than the index.
    fn backfill(&self, org: &OrgId) -> impl Future<Output = Result<Backfill, Unavailable>> + Send;
    /// Records the progress of the backfill.
    fn set_backfill(
        &self,
        org: &OrgId,
        backfill: &Backfill,
    ) -> impl Future<Output = Result<(), Unavailable>> + Send;
}

/// Removes sessions from the index.
pub trait SessionIndexRemover: Send + Sync {
    /// Removes a session. Succeeds if there is no entry.
    fn delete(&self, session: &SessionKey)
    -> impl Future<Output = Result<DeleteOutcome, Unavailable>> + Send;
}

/// A query of the index.
#[derive(Debug)]
pub struct IndexQuery<'a> {
    /// The org to search.
    pub org: &'a OrgId,
    /// Only sessions in which this user takes part.
    pub user: Option<&'a UserId>,
    /// Only sessions whose last activity is in this range.
    pub active: TimeRange,
    /// Only sessions that have all of these terms, see [`crate::prefix_terms`].
    pub terms: &'a BTreeSet<String>,
}

/// The result of a query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Candidates {
    /// The newest matches, in any order.
    pub sessions: Vec<Candidate>,
    /// True if these are all matches. If not, the others are older than each of these.
    pub is_complete: bool,
}

/// A session in the index.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// The time of its last activity.
    pub last_activity: Timestamp,
    /// The session.
    pub session: SessionId,
}

/// The index entry of a session. It contains terms but no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Indexed {
    /// The session.
    pub key: SessionKey,
    /// The time of its last activity.
    pub last_activity: Timestamp,
    /// The users who take part in it.
    pub users: BTreeSet<UserId>,
    /// The terms that find it.
    pub terms: BTreeSet<String>,
}

/// The progress of the backfill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backfill {
    /// Not started.
    NotStarted,
    /// Done up to this place in the list of the org's sessions.
    UpTo(String),
    /// Complete: the index contains every older session, and newer ones are added as their turns end.
    Complete,
}

/// Searches don't use the index if the deployment has none.
impl<I: SessionIndex> SessionIndex for Option<I> {
    async fn candidates(&self, query: &IndexQuery<'_>) -> Result<Option<Candidates>, Unavailable> {
        match self {
            Some(index) => index.candidates(query).await,
            None => Ok(None),
        }
    }
}

/// A deployment without an index has nothing to remove.
impl<I: SessionIndexRemover> SessionIndexRemover for Option<I> {
    async fn delete(&self, session: &SessionKey) -> Result<DeleteOutcome, Unavailable> {
        match self {
            Some(index) => index.delete(session).await,
            None => Ok(DeleteOutcome::NoIndex),
        }
    }
}
