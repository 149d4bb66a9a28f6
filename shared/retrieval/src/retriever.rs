//! The port: what one process knows of the provider of embeddings and of the database, and asks of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agent::retrieval::{Chunk, EmbeddingModel, Error, Retrieval, Search};
use llm::breaker::{self, Breaker};
use llm::embeddings::Embeddings;
use llm::key::Keys;
use qdrant_client::qdrant::{ScoredPoint, point_id::PointIdOptions};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::collection::Layout;
use crate::connection::{Connection, Failure};
use crate::payload::Payload;
use crate::query::query;

/// How long what is known of a collection is taken for true.
const LAYOUT_LASTS: Duration = Duration::from_secs(300);

/// When retrieval is not asked for: it costs each turn its wait, so it takes few failures.
pub const BREAKER: breaker::Policy = breaker::Policy { failures: 3, pause: Duration::from_secs(15) };

/// Retrieval over a provider of embeddings and a Qdrant. One of it serves all turns of a process.
#[derive(Debug)]
pub struct Retriever<E, Q> {
    embeddings: Embeddings<E>,
    database: Arc<Database<Q>>,
    /// The collection that turns search as a rule.
    collection: String,
    embedding_breaker: Breaker,
    database_breaker: Breaker,
}

impl<E: Keys, Q: Keys + 'static> Retriever<E, Q> {
    /// Nothing is sent before the first question.
    #[must_use]
    pub fn new(
        embeddings: Embeddings<E>,
        connection: Connection<Q>,
        collection: String,
        breaker: breaker::Policy,
    ) -> Self {
        let breaker = |who| Breaker::new(breaker).around(who);
        Self {
            embeddings,
            database: Arc::new(Database { connection, layouts: Mutex::default() }),
            collection,
            embedding_breaker: breaker("the provider of embeddings"),
            database_breaker: breaker("the vector database"),
        }
    }

    async fn found(&self, search: &Search<'_>, vector: &[f32]) -> Result<Vec<Chunk>, Error> {
        let layout = self.database.layout(search.collection).await?;
        if usize::try_from(layout.dense.1) != Ok(vector.len()) {
            return Err(Error::OtherDimensions);
        }
        let asked = query(search, &layout, vector);
        let found = self.database.connection.ask(|qdrant| {
            let asked = asked.clone();
            async move { qdrant.points().query(asked).await }
        });
        let found = found.await?.result.into_iter();
        // The filter keeps other orgs' points away. What came all the same is nobody's.
        Ok(found
            .filter_map(chunk)
            .filter(|(org, _)| org == search.org.as_str())
            .map(|(_, chunk)| chunk)
            .collect())
    }
}

impl<E: Keys, Q: Keys + 'static> Retrieval for Retriever<E, Q> {
    async fn embed(
        &self,
        model: &EmbeddingModel,
        question: &str,
        deadline: Duration,
    ) -> Result<Vec<f32>, Error> {
        // A database that is known to be down makes a vector worthless.
        if self.database_breaker.is_open(Instant::now()) {
            return Err(Error::Paused);
        }
        let admission = self.embedding_breaker.admit(Instant::now()).map_err(|_| Error::Paused)?;
        self.database.look_ahead(&self.collection);
        let embedded = self.embeddings.embed(model, &[question], deadline).await;
        admission.ended(embedded.as_ref().is_err_and(breaker::is_outage), Instant::now());
        let embedded = embedded.map_err(|error| match error {
            llm::Error::TimedOut => Error::TimedOut,
            _ => Error::NotEmbedded,
        })?;
        embedded.vectors.into_iter().next().ok_or(Error::NotEmbedded)
    }

    async fn search(
        &self,
        search: &Search<'_>,
        vector: &[f32],
        deadline: Duration,
    ) -> Result<Vec<Chunk>, Error> {
        let admission = self.database_breaker.admit(Instant::now()).map_err(|_| Error::Paused)?;
        let found = timeout(deadline, self.found(search, vector)).await.unwrap_or(Err(Error::TimedOut));
        let is_outage = matches!(found, Err(Error::TimedOut | Error::Unavailable));
        admission.ended(is_outage, Instant::now());
        found
    }
}

/// The database, and what is known of its collections.
#[derive(Debug)]
struct Database<Q> {
    connection: Connection<Q>,
    layouts: Mutex<BTreeMap<String, (Instant, Layout)>>,
}

impl<Q: Keys + 'static> Database<Q> {
    /// Finds out about a collection while nobody waits for it.
    fn look_ahead(self: &Arc<Self>, collection: &str) {
        let is_known = self.layouts.try_lock().map_or(true, |layouts| known(&layouts, collection).is_some());
        if !is_known {
            let (ahead, collection) = (Arc::clone(self), collection.to_owned());
            tokio::spawn(async move { ahead.layout(&collection).await.is_ok() });
        }
    }

    async fn layout(&self, collection: &str) -> Result<Layout, Error> {
        // Held while asking, so that one answer serves everyone who waits for it.
        let mut layouts = self.layouts.lock().await;
        if let Some(layout) = known(&layouts, collection) {
            return Ok(layout);
        }
        let info = self.connection.collection(collection).await?;
        let layout = Layout::of(info).ok_or(Error::NoCollection)?;
        layouts.retain(|_, (at, _)| at.elapsed() < LAYOUT_LASTS);
        layouts.insert(collection.to_owned(), (Instant::now(), layout.clone()));
        Ok(layout)
    }
}

fn known(layouts: &BTreeMap<String, (Instant, Layout)>, collection: &str) -> Option<Layout> {
    layouts.get(collection).filter(|(at, _)| at.elapsed() < LAYOUT_LASTS).map(|(_, layout)| layout.clone())
}

/// A point as a chunk, with the org that it is of.
#[must_use]
pub fn chunk(point: ScoredPoint) -> Option<(String, Chunk)> {
    let id = match point.id?.point_id_options? {
        PointIdOptions::Num(number) => number.to_string(),
        PointIdOptions::Uuid(uuid) => uuid,
    };
    let payload = Payload::read(point.payload)?;
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

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Unavailable => Self::Unavailable,
            Failure::TimedOut => Self::TimedOut,
            Failure::Refused => Self::Refused,
            Failure::NoCollection => Self::NoCollection,
            Failure::Rejected => Self::Rejected,
            Failure::TooLarge => Self::TooLarge,
        }
    }
}
