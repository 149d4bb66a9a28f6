//! The indexer: compares the folder with the database and applies the difference.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

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
use crate::walk;

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
        let mut comparison = self.compare(folder, &current).await?;
        let mut summary = Summary::from_comparison(&comparison);
        report(Progress::Compared { files: comparison.changed.len(), bytes: comparison.bytes() });

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
            report(Progress::Split { bytes: changed.bytes });
            let path = changed.file.path;
            match split {
                Ok((file, fallback)) => {
                    summary.record_fallback(&path, fallback);
                    current.record(&file);
                    pipeline.add(file.points, &mut summary, &mut report).await?;
                }
                // The file has changed since the comparison.
                Err(reason) => {
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

    async fn compare(&self, folder: &Path, state: &IndexedState) -> Result<Comparison, Error> {
        let (folder, rules) = (folder.to_owned(), self.options.rules.clone());
        let baseline = state.clone().baseline(&self.source, &self.options);
        let comparison = tokio::task::spawn_blocking(move || {
            walk::walk(&folder).map(|files| compare(files, &rules, &baseline))
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
