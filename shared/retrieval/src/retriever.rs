//! The adapter of the retrieval port: one process's access to the embedding provider and the database.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agent::retrieval::{Chunk, EmbeddingModel, Error, Retrieval, ScopeWarning, Search, SearchResult};
use futures::future::{join, join_all};
use llm::breaker::{self, Breaker};
use llm::embeddings::Embeddings;
use llm::key::KeySource;
use qdrant_client::qdrant::{ScoredPoint, ScrollPointsBuilder, point_id::PointIdOptions};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::collection::{FilterKeys, Layout};
use crate::connection::{Connection, QdrantError};
use crate::filter::{Filters, filters, has_key};
use crate::payload::Payload;
use crate::query::{MAX_PAGES, PAGE_POINTS, build_page, candidates};

/// The lifetime of a cached collection layout.
const LAYOUT_TTL: Duration = Duration::from_secs(300);

/// The share of a search's time after which no further page is requested.
const PAGING_SHARE: u32 = 2;

/// The time for finding out that no source has a condition's key. A key that takes longer counts as known.
const KEY_LOOKUP: Duration = Duration::from_millis(300);

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
        match self.search_layout(search, &layout, vector, deadline).await {
            // The database may have lost an index since the layout was read, or limits filters in another way.
            Err(Error::Rejected) if !(search.scope.is_empty() && search.hints.is_empty()) => {
                self.database.forget_layout(search.collection).await;
                let keys = FilterKeys { indexed: Some(BTreeMap::new()), ..layout.keys };
                self.search_layout(search, &Layout { keys, ..layout }, vector, deadline).await
            }
            found => found,
        }
    }

    async fn search_layout(
        &self,
        search: &Search<'_>,
        layout: &Layout,
        vector: &[f32],
        deadline: Duration,
    ) -> Result<SearchResult, Error> {
        let filters = filters(search.org, search.scope, search.hints, &layout.keys);
        let pages = self.search_pages(search, layout, vector, &filters, deadline);
        let (pages, unknown_keys) = join(pages, self.unknown_keys(search, &filters)).await;
        let (chunks, is_complete) = pages?;
        let ignored = filters.ignored_keys.into_iter().map(ScopeWarning::KeyIgnored);
        let unindexed = filters.unindexed_keys.into_iter().map(ScopeWarning::KeyUnindexed);
        let incomplete = (!is_complete).then_some(ScopeWarning::Incomplete);
        let warnings = ignored.chain(unknown_keys).chain(unindexed).chain(incomplete);
        Ok(SearchResult { chunks, warnings: warnings.collect() })
    }

    /// Reads pages of results until enough of them meet every condition. False if a page, the time or the number of
    /// pages ended the search too early to tell that no other point does.
    async fn search_pages(
        &self,
        search: &Search<'_>,
        layout: &Layout,
        vector: &[f32],
        filters: &Filters,
        deadline: Duration,
    ) -> Result<(Vec<Chunk>, bool), Error> {
        let started = Instant::now();
        let wanted = usize::try_from(candidates(search)).unwrap_or(usize::MAX);
        let mut chunks: Vec<Chunk> = Vec::new();
        for page in 0..MAX_PAGES {
            let request = build_page(search, layout, vector, filters, page);
            let response = self.database.connection.call(|qdrant| {
                let request = request.clone();
                async move { qdrant.points().query(request).await }
            });
            let points = response.await?.result;
            let is_last = filters.payload_conditions.is_empty()
                || u64::try_from(points.len()).unwrap_or(u64::MAX) < PAGE_POINTS;
            // The filter excludes other orgs' points; drop any that come back all the same.
            let points = points
                .into_iter()
                .filter(|point| {
                    filters.payload_conditions.iter().all(|condition| condition.is_met(&point.payload))
                })
                .filter_map(chunk_from_point)
                .filter(|(org, _)| org == search.org.as_str());
            for (_, chunk) in points {
                if !chunks.iter().any(|known| known.id == chunk.id) {
                    chunks.push(chunk);
                }
            }
            if is_last || chunks.len() >= wanted {
                chunks.truncate(wanted);
                return Ok((chunks, true));
            }
            if started.elapsed() > deadline / PAGING_SHARE {
                break;
            }
        }
        Ok((chunks, false))
    }

    /// Returns a warning per key that no point of the org has.
    async fn unknown_keys(&self, search: &Search<'_>, filters: &Filters) -> Vec<ScopeWarning> {
        let lookups = filters.custom_keys.iter().map(async |(key, path)| {
            let scroll = ScrollPointsBuilder::new(search.collection)
                .filter(has_key(search.org, path))
                .limit(1)
                .with_payload(false)
                .build();
            let response = self.database.connection.call(|qdrant| {
                let scroll = scroll.clone();
                async move { qdrant.points().scroll(scroll).await }
            });
            let is_unknown = match timeout(KEY_LOOKUP, response).await {
                Ok(Ok(page)) => page.result.is_empty(),
                Ok(Err(_)) | Err(_) => false,
            };
            is_unknown.then(|| ScopeWarning::KeyUnknown(key.clone()))
        });
        join_all(lookups).await.into_iter().flatten().collect()
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
        permit.record(embedded.as_ref().is_err_and(breaker::is_outage), Instant::now());
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

/// Converts a point into a chunk and its org.
#[must_use]
pub fn chunk_from_point(point: ScoredPoint) -> Option<(String, Chunk)> {
    let id = match point.id?.point_id_options? {
        PointIdOptions::Num(number) => number.to_string(),
        PointIdOptions::Uuid(uuid) => uuid,
    };
    let payload = Payload::from_map(point.payload)?;
    let chunk = Chunk {
        id,
        repo: payload.repo,
        path: payload.path,
        language: payload.language,
        start_line: payload.line_start,
        end_line: payload.line_end,
        content_hash: payload.content_hash,
        score: point.score,
        text: payload.text,
    };
    Some((payload.org_id.as_str().to_owned(), chunk))
}

impl From<QdrantError> for Error {
    fn from(failure: QdrantError) -> Self {
        match failure {
            QdrantError::Unavailable => Self::Unavailable,
            QdrantError::TimedOut => Self::TimedOut,
            QdrantError::Unauthorized => Self::Unauthorized,
            QdrantError::CollectionNotFound => Self::CollectionNotFound,
            QdrantError::Rejected => Self::Rejected,
            QdrantError::TooLarge => Self::TooLarge,
        }
    }
}
