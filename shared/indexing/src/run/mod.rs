//! A run compares the folder with the database and applies the difference.

mod compare;
mod indexed_state;
mod point;
mod store;
mod summary;

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent::model::Error as ModelError;
use contracts::id::OrgId;
use llm::embeddings::{EmbeddingModel, Embeddings, batches};
use llm::key::{ApiKey, KeySource};
use retrieval::connection::{Connection, QdrantError};
use tokio::task::JoinSet;

use crate::split::{ChunkLength, split};
use crate::walk::{Rules, read};
use crate::{language, walk};
use compare::{ChangedFile, Comparison};
pub use indexed_state::IndexedState;
use point::{FilePoints, PendingPoint};
use store::Store;
pub use summary::Summary;

/// The timeout of one embedding request, retries included.
const EMBED_TIMEOUT: Duration = Duration::from_secs(840);

/// The sources to index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The tenant.
    pub org: OrgId,
    /// The repository's name.
    pub repo: String,
    /// The workspace of the repository.
    pub project: Option<String>,
}

/// The options of a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The collection, which is created if it doesn't exist.
    pub collection: String,
    /// The embedding model.
    pub model: EmbeddingModel,
    /// The number of concurrent embedding requests.
    pub concurrency: usize,
    /// Set to index unchanged files too.
    pub force: bool,
    /// The length of a chunk.
    pub chunk_length: ChunkLength,
    /// The rules for files to skip.
    pub rules: Rules,
}

/// Progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The folder was compared with the database.
    Compared {
        /// The number of files to index.
        files: usize,
        /// Their size in bytes.
        bytes: u64,
    },
    /// A file was read and split.
    Split {
        /// Its size in bytes.
        bytes: u64,
    },
    /// Chunks were stored.
    Stored {
        /// The number of chunks.
        chunks: usize,
    },
}

/// The reason a run ended early. Stored chunks remain, and the next run continues from there.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder is unreadable.
    #[error("can't read the folder: {0}")]
    Folder(#[from] io::Error),
    /// The database call failed.
    #[error("{0}. Stored chunks are kept; run it again to continue")]
    Database(#[from] QdrantError),
    /// The embedding provider failed.
    #[error("the provider returned no embeddings: {0}. Stored chunks are kept; run it again to continue")]
    Embeddings(#[from] ModelError),
    /// The collection has no dense vector that could be used.
    #[error("the collection {0} has no usable dense vector; name another one with --collection")]
    NoDenseVector(String),
    /// The collection's vectors have other dimensions than the model's.
    #[error(
        "the collection {collection} has vectors of {expected} dimensions, but the model {model} makes {actual}: name another \
         collection, delete this one and index again, or request {expected} dimensions from the model"
    )]
    DimensionMismatch {
        /// The collection.
        collection: String,
        /// The collection's dimensions.
        expected: u64,
        /// The model.
        model: String,
        /// The model's dimensions.
        actual: u64,
    },
    /// A background task panicked or was cancelled.
    #[error("a background task failed: {0}")]
    TaskFailed(#[from] tokio::task::JoinError),
}

/// Indexes a folder into the database.
#[derive(Debug)]
pub struct Indexer<K = ApiKey> {
    store: Arc<Store<K>>,
    embeddings: Arc<Embeddings<ApiKey>>,
    source: Source,
    options: Options,
}

impl<K: KeySource + Clone + 'static> Indexer<K> {
    /// Creates an indexer. Nothing is sent before the first run.
    #[must_use]
    pub fn new(
        connection: Connection<K>,
        embeddings: Embeddings<ApiKey>,
        source: Source,
        options: Options,
    ) -> Self {
        let store = Arc::new(Store::new(connection, options.collection.clone()));
        Self { store, embeddings: Arc::new(embeddings), source, options }
    }

    /// Makes the database match the folder for this repository. `state` is the state that an earlier run left, which
    /// saves reading it from the database; with none it is read.
    ///
    /// # Errors
    /// Returns [`Error`]; the state is then none.
    pub async fn run(
        &self,
        folder: &Path,
        state: &mut Option<IndexedState>,
        mut report: impl FnMut(Progress) + Send,
    ) -> Result<Summary, Error> {
        let started = Instant::now();
        let mut current = match state.take() {
            Some(state) => state,
            None => self.store.load_state(&self.source).await?,
        };
        let comparison = self.compare(folder, &current).await?;
        let mut summary = Summary::from_comparison(&comparison);
        report(Progress::Compared { files: comparison.changed.len(), bytes: comparison.bytes() });

        if !comparison.changed.is_empty() {
            self.ensure_collection(&mut current).await?;
        }
        let mut pipeline = Pipeline::new(self, current.dense_dimensions());
        for changed in &comparison.changed {
            let Some(file) = self.split_file(changed).await? else { continue };
            report(Progress::Split { bytes: changed.bytes });
            current.record(&file);
            pipeline.points.extend(file.points);
            pipeline.send_full_batches(&mut summary, &mut report).await?;
        }
        pipeline.flush(&mut summary, &mut report).await?;
        // Delete old points last, so that a search always finds either the old chunks or the new ones.
        summary.removed_points = self.delete_stale(&mut current, &comparison.removed).await?;
        summary.elapsed = started.elapsed();
        *state = Some(current);
        Ok(summary)
    }

    async fn compare(&self, folder: &Path, state: &IndexedState) -> Result<Comparison, Error> {
        let (folder, rules) = (folder.to_owned(), self.options.rules.clone());
        let baseline = state.clone().baseline(&self.source, &self.options);
        let comparison = tokio::task::spawn_blocking(move || {
            walk::walk(&folder).map(|files| compare::compare(files, &rules, &baseline))
        });
        Ok(comparison.await??)
    }

    /// Creates the collection if it doesn't exist, which requires the dimensions of the model's vectors.
    async fn ensure_collection(&self, state: &mut IndexedState) -> Result<(), Error> {
        if state.layout.is_none() {
            let length = match self.options.model.dimensions {
                Some(dimensions) => u64::from(dimensions),
                None => {
                    let probe =
                        self.embeddings.embed(&self.options.model, &["length"], EMBED_TIMEOUT).await?;
                    probe.vectors.first().map_or(0, |vector| to_u64(vector.len()))
                }
            };
            state.layout = Some(self.store.create_collection(length).await?);
        }
        Ok(self.store.create_indexes().await?)
    }

    /// Splits a file. None if it was removed or is no longer indexable; the next run handles it.
    async fn split_file(&self, changed: &ChangedFile) -> Result<Option<FilePoints>, Error> {
        let (file, rules) = (changed.file.clone(), self.options.rules.clone());
        let (source, model) = (self.source.clone(), self.options.model.name.clone());
        let length = self.options.chunk_length;
        let cut = tokio::task::spawn_blocking(move || {
            let text = read(&file, &rules).ok()?;
            let language = language::detect(Path::new(&file.path));
            Some(point::build_points(
                &source,
                &model,
                &file.path,
                &text,
                language,
                split(&text, language, length),
            ))
        });
        Ok(cut.await?)
    }

    async fn delete_stale(&self, state: &mut IndexedState, removed: &[String]) -> Result<usize, Error> {
        let ids: BTreeSet<String> = state.take_stale_ids(removed);
        self.store.delete(&ids).await?;
        Ok(ids.len())
    }
}

/// Points being processed: some wait to fill a batch, some are in requests in flight.
struct Pipeline<'a, K> {
    indexer: &'a Indexer<K>,
    length: Option<u64>,
    points: Vec<PendingPoint>,
    in_flight: JoinSet<Result<(usize, u64), Error>>,
}

impl<'a, K: KeySource + Clone + 'static> Pipeline<'a, K> {
    fn new(indexer: &'a Indexer<K>, length: Option<u64>) -> Self {
        Self { indexer, length, points: Vec::new(), in_flight: JoinSet::new() }
    }

    /// Sends all full batches; the last one may still grow.
    async fn send_full_batches(
        &mut self,
        summary: &mut Summary,
        report: &mut impl FnMut(Progress),
    ) -> Result<(), Error> {
        let cut = batches(&self.points, self.indexer.embeddings.limits());
        let Some((last, full)) = cut.split_last() else { return Ok(()) };
        let last = self.points.split_off(last.start);
        let mut rest = std::mem::replace(&mut self.points, last);
        for range in full {
            let later = rest.split_off(range.len());
            self.send_batch(std::mem::replace(&mut rest, later), summary, report).await?;
        }
        Ok(())
    }

    async fn flush(&mut self, summary: &mut Summary, report: &mut impl FnMut(Progress)) -> Result<(), Error> {
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
        while self.in_flight.len() >= self.indexer.options.concurrency.max(1) {
            self.wait_for_batch(summary, report).await?;
        }
        let (store, embeddings) = (Arc::clone(&self.indexer.store), Arc::clone(&self.indexer.embeddings));
        let (model, length) = (self.indexer.options.model.clone(), self.length);
        self.in_flight.spawn(async move {
            let embedded = embeddings.embed(&model, &points, EMBED_TIMEOUT).await?;
            let actual = embedded.vectors.first().map_or(0, |vector| to_u64(vector.len()));
            if let Some(expected) = length.filter(|expected| *expected != actual) {
                let collection = store.collection().to_owned();
                return Err(Error::DimensionMismatch { collection, expected, model: model.name, actual });
            }
            let chunks = points.len();
            store.upsert(points, embedded.vectors).await?;
            Ok((chunks, embedded.tokens))
        });
        Ok(())
    }

    async fn wait_for_batch(
        &mut self,
        summary: &mut Summary,
        report: &mut impl FnMut(Progress),
    ) -> Result<(), Error> {
        if let Some(done) = self.in_flight.join_next().await {
            let (chunks, tokens) = done??;
            summary.chunks += chunks;
            summary.tokens += tokens;
            summary.requests += 1;
            report(Progress::Stored { chunks });
        }
        Ok(())
    }
}

fn to_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
