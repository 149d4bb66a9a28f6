//! The indexer: compares the folder with the database and applies the difference.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use agent::text::estimate_tokens;
use llm::embeddings::Embeddings;
use llm::key::{ApiKey, KeySource};
use retrieval::connection::Connection;

use super::compare::{Comparison, compare};
use super::error::Error;
use super::indexed_state::IndexedState;
use super::options::{Options, Source};
use super::pipeline::{EMBED_TIMEOUT, Pipeline, dimensions};
use super::progress::Progress;
use super::splits::Splits;
use super::store::Store;
use super::summary::Summary;
use crate::walk::{self, SourceFile, Walk};

/// Indexes files into the database. `K` and `E` are the keys of the database and of the embedding provider.
#[derive(Debug)]
pub struct Indexer<K = ApiKey, E = ApiKey> {
    store: Arc<Store<K>>,
    embeddings: Arc<Embeddings<E>>,
    source: Source,
    options: Options,
}

impl<K: KeySource + Clone + 'static, E: KeySource + 'static> Indexer<K, E> {
    /// Creates an indexer. Nothing is sent before the first run.
    #[must_use]
    pub fn new(
        connection: Connection<K>,
        embeddings: impl Into<Arc<Embeddings<E>>>,
        source: Source,
        options: Options,
    ) -> Self {
        let store = Arc::new(Store::new(connection, options.collection.clone()));
        Self { store, embeddings: embeddings.into(), source, options }
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
        report: impl FnMut(Progress) + Send,
    ) -> Result<Summary, Error> {
        let folder = folder.to_owned();
        self.run_with(move || walk::walk(&folder), state, report).await
    }

    /// Makes the database match these files for this repository.
    ///
    /// # Errors
    /// Returns [`Error`].
    pub async fn run_files(&self, files: Vec<SourceFile>) -> Result<Summary, Error> {
        let walk = Walk { files, skipped: Vec::new() };
        self.run_with(|| Ok(walk), &mut None, |_| ()).await
    }

    async fn run_with(
        &self,
        walk: impl FnOnce() -> io::Result<Walk> + Send + 'static,
        state: &mut Option<IndexedState>,
        mut report: impl FnMut(Progress) + Send,
    ) -> Result<Summary, Error> {
        let started = Instant::now();
        let mut current = match state.take() {
            Some(state) => state,
            None => self.store.load_state(&self.source).await?,
        };
        let mut comparison = self.compare(walk, &current).await?;
        let files = current.files.len();
        if comparison.is_empty() && files > 0 {
            return Err(Error::Emptied { repo: self.source.repo.clone(), files });
        }
        let mut summary = Summary::from_comparison(&comparison);
        report(Progress::Compared { files: comparison.changed.len(), bytes: comparison.bytes() });

        if self.options.dry_run {
            return self.estimate(comparison, summary, started).await;
        }
        // Secrets that an earlier run stored are deleted first, in case the rest fails.
        let secrets = comparison.take_removed_secrets();
        summary.removed_points += self.delete_stale(&mut current, &secrets).await?;
        if !comparison.changed.is_empty() {
            self.ensure_collection(&mut current).await?;
        }
        let (store, embeddings) = (Arc::clone(&self.store), Arc::clone(&self.embeddings));
        let mut pipeline = Pipeline::new(store, embeddings, &self.options, current.dense_dimensions());
        let changed = std::mem::take(&mut comparison.changed);
        let mut splits = Splits::new(changed, &self.source, &self.options);
        while let Some((changed, split)) = splits.next().await? {
            let path = changed.file.path;
            match split {
                Ok((file, fallback)) => {
                    if file.points.is_empty() {
                        report(Progress::Skipped { bytes: changed.bytes });
                    }
                    summary.record_fallback(&path, fallback);
                    current.record(&file);
                    pipeline.add(file.points, &mut summary, &mut report).await?;
                }
                // The file has changed since the comparison.
                Err(reason) => {
                    report(Progress::Skipped { bytes: changed.bytes });
                    summary.skip(&path, reason);
                    comparison.removed.push(path);
                }
            }
        }
        pipeline.flush(&mut summary, &mut report).await?;
        // Delete old points last, so that a search always finds either the old chunks or the new ones.
        summary.removed_points += self.delete_stale(&mut current, &comparison.removed).await?;
        summary.elapsed = started.elapsed();
        *state = Some(current);
        Ok(summary)
    }

    /// Deletes all points of the repository, and returns a summary.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn remove(&self) -> Result<Summary, Error> {
        let started = Instant::now();
        let mut current = self.store.load_state(&self.source).await?;
        let paths: Vec<String> = current.files.keys().cloned().collect();
        let removed_points = match self.options.dry_run {
            true => current.take_stale_ids(&paths).len(),
            false => self.delete_stale(&mut current, &paths).await?,
        };
        let elapsed = started.elapsed();
        Ok(Summary { removed_files: paths.len(), removed_points, elapsed, ..Summary::default() })
    }

    /// Splits the files that a run would index, and counts their chunks and tokens.
    async fn estimate(
        &self,
        comparison: Comparison,
        mut summary: Summary,
        started: Instant,
    ) -> Result<Summary, Error> {
        let mut splits = Splits::new(comparison.changed, &self.source, &self.options);
        while let Some((changed, split)) = splits.next().await? {
            match split {
                Ok((file, fallback)) => {
                    summary.record_fallback(&changed.file.path, fallback);
                    summary.chunks += file.points.len();
                    let bytes: usize = file.points.iter().map(|point| point.as_ref().len()).sum();
                    summary.tokens += estimate_tokens(u64::try_from(bytes).unwrap_or(u64::MAX));
                }
                Err(reason) => summary.skip(&changed.file.path, reason),
            }
        }
        summary.elapsed = started.elapsed();
        Ok(summary)
    }

    async fn compare(
        &self,
        walk: impl FnOnce() -> io::Result<Walk> + Send + 'static,
        state: &IndexedState,
    ) -> Result<Comparison, Error> {
        let rules = self.options.rules.clone();
        let baseline = state.clone().baseline(&self.source, &self.options);
        let comparison =
            tokio::task::spawn_blocking(move || walk().map(|walk| compare(walk, &rules, &baseline)));
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
                    dimensions(&probe.vectors)
                }
            };
            state.layout = Some(self.store.create_collection(length).await?);
        }
        Ok(self.store.create_indexes().await?)
    }

    async fn delete_stale(&self, state: &mut IndexedState, removed: &[String]) -> Result<usize, Error> {
        let ids: BTreeSet<String> = state.take_stale_ids(removed);
        self.store.delete(&ids).await?;
        Ok(ids.len())
    }
}
