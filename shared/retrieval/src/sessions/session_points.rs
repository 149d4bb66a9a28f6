//! The adapter of the session index ports.

use std::sync::Arc;
use std::time::Duration;

use breaker::Breaker;
use contracts::id::OrgId;
use futures::future::try_join;
use llm::key::KeySource;
use protocol::{id::SessionKey, purge::DeleteOutcome};
use qdrant_client::qdrant::{
    DeletePoints, DeletePointsBuilder, GetPointsBuilder, PointStruct, PointsIdsList, UpsertPointsBuilder,
};
use tokio::time::{Instant, timeout};
use turns::ports::{Backfill, Candidates, IndexQuery, Indexed, SessionIndex, Unavailable};

use super::{layout, query};
use crate::connection::{Connection, InvalidUrl, QdrantError, QdrantTimeouts};
use crate::retriever::BREAKER_POLICY;

const NAME: &str = "the index of sessions";

/// Timeouts of the session index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionIndexTimeouts {
    /// The timeouts of the connection and of each attempt.
    pub request: QdrantTimeouts,
    /// The time limit of a whole operation.
    pub total: Duration,
}

impl SessionIndexTimeouts {
    /// Timeouts for a search, for which a user waits.
    pub const SEARCH: Self = Self { request: QdrantTimeouts::TURN, total: Duration::from_millis(1_500) };
    /// Timeouts for indexing, which runs in the background.
    pub const INDEXING: Self = Self {
        request: QdrantTimeouts { connect: Duration::from_secs(2), attempt: Duration::from_secs(5) },
        total: Duration::from_secs(8),
    };
}

/// The index of sessions in a collection. One instance serves a process; clones share the connection and the
/// breaker.
#[derive(Debug, Clone)]
pub struct SessionPoints<K> {
    connection: Connection<K>,
    collection: String,
    time_limit: Duration,
    breaker: Arc<Breaker>,
}

impl<K: KeySource> SessionPoints<K> {
    /// Creates it. Nothing is sent before the first operation.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidUrl`] if `url` is not an http or https URL.
    pub fn new(
        url: &str,
        key: Option<K>,
        collection: String,
        timeouts: SessionIndexTimeouts,
    ) -> Result<Self, InvalidUrl> {
        Ok(Self {
            connection: Connection::new(url, key, timeouts.request)?,
            collection,
            time_limit: timeouts.total,
            breaker: Arc::new(Breaker::new(BREAKER_POLICY).with_name(NAME)),
        })
    }

    /// Bounds an operation by the time limit, and rejects it at once while the circuit breaker is open.
    async fn bounded<T>(
        &self,
        result: impl Future<Output = Result<T, QdrantError>>,
    ) -> Result<T, Unavailable> {
        let Ok(permit) = self.breaker.acquire(Instant::now()) else {
            return Err(Unavailable { what: NAME, source: "the circuit breaker is open".into() });
        };
        let result = timeout(self.time_limit, result).await.unwrap_or(Err(QdrantError::TimedOut));
        let is_outage = matches!(result, Err(QdrantError::TimedOut | QdrantError::Unavailable));
        permit.record(is_outage, Instant::now());
        result.map_err(|error| Unavailable { what: NAME, source: error.into() })
    }

    async fn search(&self, query: &IndexQuery<'_>) -> Result<Option<Candidates>, QdrantError> {
        let request = query::build(&self.collection, query);
        let response = self.connection.call(|qdrant| {
            let request = request.clone();
            async move { qdrant.points().query(request).await }
        });
        match try_join(response, self.backfill_state(query.org)).await {
            Ok((response, Backfill::Complete)) => Ok(Some(query::candidates(query.org, response.result))),
            Ok(_) | Err(QdrantError::CollectionNotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn backfill_state(&self, org: &OrgId) -> Result<Backfill, QdrantError> {
        let ids = vec![layout::org_point_id(org).into()];
        let request = GetPointsBuilder::new(&self.collection, ids).with_payload(true).build();
        let result = self.connection.call(|qdrant| {
            let request = request.clone();
            async move { qdrant.points().get(request).await }
        });
        match result.await {
            Ok(result) => {
                Ok(layout::backfill_state(result.result.into_iter().next().map(|point| point.payload)))
            }
            Err(QdrantError::CollectionNotFound) => Ok(Backfill::NotStarted),
            Err(error) => Err(error),
        }
    }

    /// Writes points, and creates the collection if it doesn't exist.
    async fn upsert_points(&self, points: Vec<PointStruct>) -> Result<(), QdrantError> {
        let request = UpsertPointsBuilder::new(&self.collection, points).wait(true).build();
        let upsert = || {
            self.connection.call(|qdrant| {
                let request = request.clone();
                async move { qdrant.points().upsert(request).await }
            })
        };
        match upsert().await {
            Err(QdrantError::CollectionNotFound) => {
                self.create().await?;
                upsert().await.map(drop)
            }
            result => result.map(drop),
        }
    }

    /// Deletes points, as far as they exist.
    async fn delete_points(&self, ids: Vec<String>) -> Result<(), QdrantError> {
        let ids = PointsIdsList { ids: ids.into_iter().map(Into::into).collect() };
        let request: DeletePoints = DeletePointsBuilder::new(&self.collection).points(ids).wait(true).build();
        let result = self.connection.call(|qdrant| {
            let request = request.clone();
            async move { qdrant.points().delete(request).await }
        });
        match result.await {
            Ok(_) | Err(QdrantError::CollectionNotFound) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn create(&self) -> Result<(), QdrantError> {
        let request = layout::create_request(&self.collection);
        let created = self.connection.call(|qdrant| {
            let request = request.clone();
            async move { qdrant.collections().create(request).await }
        });
        if let Err(error) = created.await {
            // Another process may have created it in the meantime; otherwise fail.
            self.connection.collection(&self.collection).await.map_err(|_| error)?;
        }
        for index in layout::index_requests(&self.collection) {
            let created = self.connection.call(|qdrant| {
                let index = index.clone();
                async move { qdrant.points().create_field_index(index).await }
            });
            created.await?;
        }
        tracing::info!(collection = self.collection, "{}", contracts::log::SESSION_INDEX_CREATED);
        Ok(())
    }
}

impl<K: KeySource> SessionIndex for SessionPoints<K> {
    async fn candidates(&self, query: &IndexQuery<'_>) -> Result<Option<Candidates>, Unavailable> {
        self.bounded(self.search(query)).await
    }

    async fn put(&self, sessions: &[Indexed]) -> Result<(), Unavailable> {
        if sessions.is_empty() {
            return Ok(());
        }
        let put = async {
            let earlier =
                sessions.iter().map(|session| layout::earlier_session_point_id(&session.key)).collect();
            let written = async {
                self.upsert_points(sessions.iter().map(layout::session_point).collect()).await?;
                self.delete_points(earlier).await
            };
            match written.await {
                // A retry can't succeed until an operator changes the key or the collection.
                Err(error @ (QdrantError::Unauthorized | QdrantError::Rejected | QdrantError::TooLarge)) => {
                    tracing::error!(error = %error, "{}", contracts::log::SESSION_INDEX_REJECTED);
                    Ok(())
                }
                result => result,
            }
        };
        self.bounded(put).await
    }

    async fn backfill(&self, org: &OrgId) -> Result<Backfill, Unavailable> {
        self.bounded(self.backfill_state(org)).await
    }

    async fn set_backfill(&self, org: &OrgId, backfill: &Backfill) -> Result<(), Unavailable> {
        self.bounded(self.upsert_points(vec![layout::org_point(org, backfill)])).await
    }

    async fn delete(&self, session: &SessionKey) -> Result<DeleteOutcome, Unavailable> {
        let ids = vec![layout::session_point_id(session), layout::earlier_session_point_id(session)];
        let deletion = async { self.delete_points(ids).await.map(|()| DeleteOutcome::Deleted) };
        self.bounded(deletion).await
    }
}
