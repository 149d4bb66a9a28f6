//! The pipeline of a run: embeds points in batches and stores them.

use std::sync::Arc;
use std::time::Duration;

use llm::embeddings::{EmbeddingModel, Embeddings, batches};
use llm::key::KeySource;
use tokio::task::JoinSet;

use super::error::Error;
use super::options::Options;
use super::point::PendingPoint;
use super::progress::Progress;
use super::store::Store;
use super::summary::Summary;

/// The timeout of one embedding request, retries included.
pub(super) const EMBED_TIMEOUT: Duration = Duration::from_secs(840);

/// Points being processed: some wait to fill a batch, some are in requests in flight.
pub(super) struct Pipeline<K, E> {
    store: Arc<Store<K>>,
    embeddings: Arc<Embeddings<E>>,
    model: EmbeddingModel,
    /// The number of concurrent embedding requests.
    concurrency: usize,
    /// The dimensions of the collection's vectors.
    length: Option<u64>,
    points: Vec<PendingPoint>,
    in_flight: JoinSet<Result<StoredBatch, Error>>,
}

/// A batch of chunks that was embedded and stored.
struct StoredBatch {
    chunks: usize,
    bytes: u64,
    tokens: u64,
}

impl<K: KeySource + Clone + 'static, E: KeySource + 'static> Pipeline<K, E> {
    pub(super) fn new(
        store: Arc<Store<K>>,
        embeddings: Arc<Embeddings<E>>,
        options: &Options,
        length: Option<u64>,
    ) -> Self {
        Self {
            store,
            embeddings,
            model: options.model.clone(),
            concurrency: options.concurrency.max(1),
            length,
            points: Vec::new(),
            in_flight: JoinSet::new(),
        }
    }

    /// Adds points, and sends all full batches.
    pub(super) async fn add(
        &mut self,
        points: Vec<PendingPoint>,
        summary: &mut Summary,
        report: &mut impl FnMut(Progress),
    ) -> Result<(), Error> {
        self.points.extend(points);
        self.send_full_batches(summary, report).await
    }

    /// Sends all full batches; the last one may still grow.
    async fn send_full_batches(
        &mut self,
        summary: &mut Summary,
        report: &mut impl FnMut(Progress),
    ) -> Result<(), Error> {
        let cut = batches(&self.points, self.embeddings.limits());
        let Some((last, full)) = cut.split_last() else { return Ok(()) };
        let last = self.points.split_off(last.start);
        let mut rest = std::mem::replace(&mut self.points, last);
        for range in full {
            let later = rest.split_off(range.len());
            self.send_batch(std::mem::replace(&mut rest, later), summary, report).await?;
        }
        Ok(())
    }

    /// Sends the rest, and waits until everything is stored.
    pub(super) async fn flush(
        &mut self,
        summary: &mut Summary,
        report: &mut impl FnMut(Progress),
    ) -> Result<(), Error> {
        self.send_full_batches(summary, report).await?;
        let last = std::mem::take(&mut self.points);
        if !last.is_empty() {
            self.send_batch(last, summary, report).await?;
        }
        while !self.in_flight.is_empty() {
            self.wait_for_batch(summary, report).await?;
        }
        Ok(())
    }

    async fn send_batch(
        &mut self,
        points: Vec<PendingPoint>,
        summary: &mut Summary,
        report: &mut impl FnMut(Progress),
    ) -> Result<(), Error> {
        while self.in_flight.len() >= self.concurrency {
            self.wait_for_batch(summary, report).await?;
        }
        let (store, embeddings) = (Arc::clone(&self.store), Arc::clone(&self.embeddings));
        let (model, length) = (self.model.clone(), self.length);
        self.in_flight.spawn(async move {
            let embedded = embeddings.embed(&model, &points, EMBED_TIMEOUT).await?;
            let actual = dimensions(&embedded.vectors);
            if let Some(expected) = length.filter(|expected| *expected != actual) {
                let collection = store.collection().to_owned();
                return Err(Error::DimensionMismatch { collection, expected, model: model.name, actual });
            }
            let (chunks, bytes) = (points.len(), points.iter().map(|point| point.bytes).sum());
            store.upsert(points, embedded.vectors).await?;
            Ok(StoredBatch { chunks, bytes, tokens: embedded.tokens })
        });
        Ok(())
    }

    async fn wait_for_batch(
        &mut self,
        summary: &mut Summary,
        report: &mut impl FnMut(Progress),
    ) -> Result<(), Error> {
        if let Some(done) = self.in_flight.join_next().await {
            let StoredBatch { chunks, bytes, tokens } = done??;
            summary.chunks += chunks;
            summary.tokens += tokens;
            summary.requests += 1;
            report(Progress::Stored { chunks, bytes });
        }
        Ok(())
    }
}

/// Returns the dimensions of the vectors; 0 if there are none.
pub(super) fn dimensions(vectors: &[Vec<f32>]) -> u64 {
    vectors.first().map_or(0, |vector| u64::try_from(vector.len()).unwrap_or(u64::MAX))
}
