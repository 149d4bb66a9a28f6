//! The adapter of the retrieval port: one process's access to the embedding provider and the database.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agent::retrieval::{EmbeddingModel, Error, Retrieval, Search, SearchResult};
use breaker::Breaker;
use llm::embeddings::Embeddings;
use llm::key::KeySource;
use llm::outage::is_outage;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::collection::{FilterKeys, Layout};
use crate::connection::{Connection, QdrantError};
use crate::search;

/// The lifetime of a cached collection layout.
const LAYOUT_TTL: Duration = Duration::from_secs(300);

/// The circuit breaker policy. It opens after few failures, since each one costs a turn its wait.
pub const BREAKER_POLICY: breaker::Policy = breaker::Policy { failures: 3, pause: Duration::from_secs(15) };

/// Retrieval over an embedding provider and a Qdrant database. One instance serves all turns of a process.
#[derive(Debug)]
pub struct Retriever<E, Q> {
    embeddings: Embeddings<E>,
    database: Arc<Database<Q>>,
    /// The default collection, whose layout is fetched ahead.
    collection: String,
    embedding_breaker: Breaker,
    database_breaker: Breaker,
}

impl<E: KeySource, Q: KeySource + 'static> Retriever<E, Q> {
    /// Creates a retriever. Nothing is sent before the first question.
    #[must_use]
    pub fn new(
        embeddings: Embeddings<E>,
        connection: Connection<Q>,
        collection: String,
        breaker: breaker::Policy,
    ) -> Self {
        let breaker = |who| Breaker::new(breaker).with_name(who);
        Self {
            embeddings,
            database: Arc::new(Database { connection, layouts: Mutex::default() }),
            collection,
            embedding_breaker: breaker("the provider of embeddings"),
            database_breaker: breaker("the vector database"),
        }
    }

    async fn search_points(
        &self,
        search: &Search<'_>,
        vector: &[f32],
        deadline: Duration,
    ) -> Result<SearchResult, Error> {
        let layout = self.database.layout(search.collection).await?;
        if usize::try_from(layout.dense.1) != Ok(vector.len()) {
            return Err(Error::DimensionMismatch);
        }
        let connection = &self.database.connection;
        match search::search(connection, search, &layout, vector, deadline).await {
            // The database may have lost an index since the layout was read, or limits filters in another way.
            Err(Error::Rejected) => {
                self.database.forget_layout(search.collection).await;
                let keys = FilterKeys { indexed: Some(BTreeMap::new()), ..layout.keys };
                search::search(connection, search, &Layout { keys, ..layout }, vector, deadline).await
            }
            found => found,
        }
    }
}

impl<E: KeySource, Q: KeySource + 'static> Retrieval for Retriever<E, Q> {
    async fn embed(
        &self,
        model: &EmbeddingModel,
        question: &str,
        deadline: Duration,
    ) -> Result<Vec<f32>, Error> {
        // Without the database the vector would be useless.
        if self.database_breaker.is_open(Instant::now()) {
            return Err(Error::Paused);
        }
        let permit = self.embedding_breaker.acquire(Instant::now()).map_err(|_| Error::Paused)?;
        self.database.prefetch_layout(&self.collection);
        let embedded = self.embeddings.embed(model, &[question], deadline).await;
        permit.record(embedded.as_ref().is_err_and(is_outage), Instant::now());
        let embedded = embedded.map_err(|error| match error {
            llm::Error::TimedOut => Error::TimedOut,
            _ => Error::EmbeddingFailed,
        })?;
        embedded.vectors.into_iter().next().ok_or(Error::EmbeddingFailed)
    }

    async fn search(
        &self,
        search: &Search<'_>,
        vector: &[f32],
        deadline: Duration,
    ) -> Result<SearchResult, Error> {
        let permit = self.database_breaker.acquire(Instant::now()).map_err(|_| Error::Paused)?;
        // Boxed, since the future of a turn contains it.
        let result = Box::pin(self.search_points(search, vector, deadline));
        let result = timeout(deadline, result).await.unwrap_or(Err(Error::TimedOut));
        let is_outage = matches!(result, Err(Error::TimedOut | Error::Unavailable));
        permit.record(is_outage, Instant::now());
        result
    }
}

/// The database and a cache of its collections' layouts.
#[derive(Debug)]
struct Database<Q> {
    connection: Connection<Q>,
    layouts: Mutex<BTreeMap<String, (Instant, Layout)>>,
}

impl<Q: KeySource + 'static> Database<Q> {
    /// Fetches a collection's layout in the background.
    fn prefetch_layout(self: &Arc<Self>, collection: &str) {
        let is_cached =
            self.layouts.try_lock().map_or(true, |layouts| cached_layout(&layouts, collection).is_some());
        if !is_cached {
            let (database, collection) = (Arc::clone(self), collection.to_owned());
            tokio::spawn(async move { database.layout(&collection).await.is_ok() });
        }
    }

    async fn forget_layout(&self, collection: &str) {
        self.layouts.lock().await.remove(collection);
    }

    async fn layout(&self, collection: &str) -> Result<Layout, Error> {
        // Hold the lock during the request, so that one response serves all waiters.
        let mut layouts = self.layouts.lock().await;
        if let Some(layout) = cached_layout(&layouts, collection) {
            return Ok(layout);
        }
        let info = self.connection.collection(collection).await?;
        let layout = Layout::from_info(info).ok_or(Error::CollectionNotFound)?;
        layouts.retain(|_, (at, _)| at.elapsed() < LAYOUT_TTL);
        layouts.insert(collection.to_owned(), (Instant::now(), layout.clone()));
        Ok(layout)
    }
}

fn cached_layout(layouts: &BTreeMap<String, (Instant, Layout)>, collection: &str) -> Option<Layout> {
    layouts.get(collection).filter(|(at, _)| at.elapsed() < LAYOUT_TTL).map(|(_, layout)| layout.clone())
}

impl From<QdrantError> for Error {
    fn from(failure: QdrantError) -> Self {
        match failure {
            QdrantError::Unavailable | QdrantError::Full => Self::Unavailable,
            QdrantError::TimedOut => Self::TimedOut,
            QdrantError::Unauthorized => Self::Unauthorized,
            QdrantError::CollectionNotFound => Self::CollectionNotFound,
            QdrantError::Rejected => Self::Rejected,
            QdrantError::TooLarge => Self::TooLarge,
        }
    }
}
