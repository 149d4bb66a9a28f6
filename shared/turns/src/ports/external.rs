//! The stores outside the deployment that contain data of sessions: the index of sessions, and model providers.

use std::{collections::BTreeSet, future::Future};

use contracts::{
    Timestamp, Usage,
    id::{OrgId, SessionId, UserId},
};
use protocol::{
    id::SessionKey,
    purge::{DeleteOutcome, ProviderResponseRef},
};

use super::{errors::Unavailable, records::TimeRange};

/// The index of sessions. It finds an org's sessions that may match a search. The table alone decides what is shown, and
/// to whom.
pub trait SessionIndex: Send + Sync {
    /// Returns sessions that may match. `None` while the index doesn't contain every session of the org.
    fn candidates(
        &self,
        query: &IndexQuery<'_>,
    ) -> impl Future<Output = Result<Option<Candidates>, Unavailable>> + Send;
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
    /// Only sessions that have all of these terms, see [`crate::text_search::add_terms`].
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

/// A deployment without an index has nothing to search, to fill or to remove.
impl<I: SessionIndex> SessionIndex for Option<I> {
    async fn candidates(&self, query: &IndexQuery<'_>) -> Result<Option<Candidates>, Unavailable> {
        match self {
            Some(index) => index.candidates(query).await,
            None => Ok(None),
        }
    }

    async fn put(&self, sessions: &[Indexed]) -> Result<(), Unavailable> {
        match self {
            Some(index) => index.put(sessions).await,
            None => Ok(()),
        }
    }

    async fn backfill(&self, org: &OrgId) -> Result<Backfill, Unavailable> {
        match self {
            Some(index) => index.backfill(org).await,
            None => Ok(Backfill::Complete),
        }
    }

    async fn set_backfill(&self, org: &OrgId, backfill: &Backfill) -> Result<(), Unavailable> {
        match self {
            Some(index) => index.set_backfill(org, backfill).await,
            None => Ok(()),
        }
    }

    async fn delete(&self, session: &SessionKey) -> Result<DeleteOutcome, Unavailable> {
        match self {
            Some(index) => index.delete(session).await,
            None => Ok(DeleteOutcome::NoIndex),
        }
    }
}

/// The responses that model providers store.
pub trait ProviderResponses: Send + Sync {
    /// Removes a response at its provider. Succeeds if it doesn't exist.
    fn remove(&self, response: &ProviderResponseRef) -> impl Future<Output = Result<(), Unavailable>> + Send;
    /// Returns the usage of a response that has ended, once it is known. Ends within seconds.
    fn usage(
        &self,
        response: &ProviderResponseRef,
    ) -> impl Future<Output = Result<Option<Usage>, Unavailable>> + Send;
}

/// The responses of a process that asks no provider.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProviders;

impl ProviderResponses for NoProviders {
    async fn remove(&self, _response: &ProviderResponseRef) -> Result<(), Unavailable> {
        Err(Unavailable { what: "the provider", source: "this process asks no provider".into() })
    }

    async fn usage(&self, _response: &ProviderResponseRef) -> Result<Option<Usage>, Unavailable> {
        Ok(None)
    }
}
