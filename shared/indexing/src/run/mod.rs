//! A run: what the folder has is compared with what the database has, and the difference is made up.

mod compare;
mod known;
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
use llm::key::{ApiKey, Keys};
use retrieval::connection::{Connection, Failure};
use tokio::task::JoinSet;

use crate::split::{Length, split};
use crate::walk::{Rules, read};
use crate::{language, walk};
use compare::{Changed, Compared};
pub use known::Known;
use point::{Piece, Prepared};
use store::Store;
pub use summary::Summary;

/// How long one request for embeddings may take, with all that is tried again.
const PATIENCE: Duration = Duration::from_secs(840);

/// Whose sources these are, and which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The tenant.
    pub org: OrgId,
    /// The repository's name.
    pub repo: String,
    /// The workspace that it belongs to.
    pub project: Option<String>,
}

/// Where to, with which model, and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// The collection; made when it is missing.
    pub collection: String,
    /// What makes the vectors.
    pub model: EmbeddingModel,
    /// Requests for embeddings side by side.
    pub parallel: usize,
    /// Whether to index also what is there already.
    pub again: bool,
    /// How long a chunk is.
    pub length: Length,
    /// What to leave out.
    pub rules: Rules,
}

/// What happens during a run, for whoever shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The folder was compared with the database: so many files are to be indexed, so many bytes in all.
    Compared {
        /// Files to be indexed.
        files: usize,
        /// Their size.
        bytes: u64,
    },
    /// A file was read and cut, this many bytes.
    Cut {
        /// Its size.
        bytes: u64,
    },
    /// So many chunks are in the database.
    Stored {
        /// Chunks.
        chunks: usize,
    },
}

/// Why a run ended early. What was stored until then stays, and the next run goes on from there.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder can't be read.
    #[error("cannot read the folder: {0}")]
    Folder(#[from] io::Error),
    /// The database does not do what it is asked.
    #[error("{0}; what was stored stays: run it again to go on")]
    Database(#[from] Failure),
    /// The provider makes no vectors.
    #[error("the provider made no embeddings: {0}; what was stored stays: run it again to go on")]
    Embeddings(#[from] ModelError),
    /// The collection is laid out for something else.
    #[error("the collection {0} has no dense vector that could be meant; name another with --collection")]
    Layout(String),
    /// The collection was made for another model.
    #[error(
        "the collection {collection} holds vectors of {has} dimensions and the model {model} makes {makes}: name another \
         collection, delete this one to index it anew, or ask the model for {has} dimensions"
    )]
    Dimensions {
        /// The collection.
        collection: String,
        /// What it has.
        has: u64,
        /// The model.
        model: String,
        /// What it makes.
        makes: u64,
    },
    /// A part of the work ended without a word.
    #[error("a part of the work ended early: {0}")]
    CutShort(#[from] tokio::task::JoinError),
}

/// What brings a folder into the database.
#[derive(Debug)]
pub struct Indexer<K = ApiKey> {
    store: Arc<Store<K>>,
    embeddings: Arc<Embeddings<ApiKey>>,
    source: Source,
    options: Options,
}

impl<K: Keys + Clone + 'static> Indexer<K> {
    /// An indexer that has not asked anybody yet.
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

    /// Makes the database hold what the folder holds, and nothing else of this repository. `known` is what an earlier
    /// run left, so that the database need not be asked again; with none it is asked.
    ///
    /// # Errors
    /// [`Error`]; `known` then says nothing.
    pub async fn run(
        &self,
        folder: &Path,
        known: &mut Option<Known>,
        mut tell: impl FnMut(Progress) + Send,
    ) -> Result<Summary, Error> {
        let began = Instant::now();
        let mut here = match known.take() {
            Some(known) => known,
            None => self.store.known(&self.source).await?,
        };
        let compared = self.compare(folder, &here).await?;
        let mut summary = Summary::of(&compared);
        tell(Progress::Compared { files: compared.changed.len(), bytes: compared.bytes() });

        if !compared.changed.is_empty() {
            self.make_ready(&mut here).await?;
        }
        let mut work = Work::new(self, here.dense_length());
        for changed in &compared.changed {
            let Some(prepared) = self.cut(changed).await? else { continue };
            tell(Progress::Cut { bytes: changed.bytes });
            here.replace(&prepared);
            work.pieces.extend(prepared.pieces);
            work.send_full(&mut summary, &mut tell).await?;
        }
        work.send_rest(&mut summary, &mut tell).await?;
        // Only now: until then a search finds the old chunks or the new ones, and never none.
        summary.removed = self.remove(&mut here, &compared.gone).await?;
        summary.took = began.elapsed();
        *known = Some(here);
        Ok(summary)
    }

    async fn compare(&self, folder: &Path, known: &Known) -> Result<Compared, Error> {
        let (folder, rules) = (folder.to_owned(), self.options.rules.clone());
        let expected = known.clone().for_run(&self.source, &self.options);
        let compared = tokio::task::spawn_blocking(move || {
            walk::walk(&folder).map(|found| compare::compare(found, &rules, &expected))
        });
        Ok(compared.await??)
    }

    /// Makes the collection where there is none, which needs to know how long the model's vectors are.
    async fn make_ready(&self, known: &mut Known) -> Result<(), Error> {
        if known.layout.is_none() {
            let length = match self.options.model.dimensions {
                Some(dimensions) => u64::from(dimensions),
                None => {
                    let probe = self.embeddings.embed(&self.options.model, &["length"], PATIENCE).await?;
                    probe.vectors.first().map_or(0, |vector| number(vector.len()))
                }
            };
            known.layout = Some(self.store.create(length).await?);
        }
        Ok(self.store.index_fields().await?)
    }

    /// None for a file that is gone by now, or not worth it any more: the next run sees to it.
    async fn cut(&self, changed: &Changed) -> Result<Option<Prepared>, Error> {
        let (found, rules) = (changed.found.clone(), self.options.rules.clone());
        let (source, model) = (self.source.clone(), self.options.model.name.clone());
        let length = self.options.length;
        let cut = tokio::task::spawn_blocking(move || {
            let text = read(&found, &rules).ok()?;
            let language = language::of(Path::new(&found.path));
            Some(point::prepare(
                &source,
                &model,
                &found.path,
                &text,
                language,
                split(&text, language, length),
            ))
        });
        Ok(cut.await?)
    }

    async fn remove(&self, known: &mut Known, gone: &[String]) -> Result<usize, Error> {
        let ids: BTreeSet<String> = known.take_stale(gone);
        self.store.remove(&ids).await?;
        Ok(ids.len())
    }
}

/// Pieces on their way: some waiting to fill a request, some requests under way.
struct Work<'a, K> {
    indexer: &'a Indexer<K>,
    length: Option<u64>,
    pieces: Vec<Piece>,
    under_way: JoinSet<Result<(usize, u64), Error>>,
}

impl<'a, K: Keys + Clone + 'static> Work<'a, K> {
    fn new(indexer: &'a Indexer<K>, length: Option<u64>) -> Self {
        Self { indexer, length, pieces: Vec::new(), under_way: JoinSet::new() }
    }

    /// Sends what fills a request; the last one may be filled further.
    async fn send_full(
        &mut self,
        summary: &mut Summary,
        tell: &mut impl FnMut(Progress),
    ) -> Result<(), Error> {
        let cut = batches(&self.pieces, self.indexer.embeddings.limits());
        let Some((last, full)) = cut.split_last() else { return Ok(()) };
        let last = self.pieces.split_off(last.start);
        let mut rest = std::mem::replace(&mut self.pieces, last);
        for range in full {
            let later = rest.split_off(range.len());
            self.send(std::mem::replace(&mut rest, later), summary, tell).await?;
        }
        Ok(())
    }

    async fn send_rest(
        &mut self,
        summary: &mut Summary,
        tell: &mut impl FnMut(Progress),
    ) -> Result<(), Error> {
        self.send_full(summary, tell).await?;
        let last = std::mem::take(&mut self.pieces);
        if !last.is_empty() {
            self.send(last, summary, tell).await?;
        }
        while !self.under_way.is_empty() {
            self.wait_for_one(summary, tell).await?;
        }
        Ok(())
    }

    async fn send(
        &mut self,
        pieces: Vec<Piece>,
        summary: &mut Summary,
        tell: &mut impl FnMut(Progress),
    ) -> Result<(), Error> {
        while self.under_way.len() >= self.indexer.options.parallel.max(1) {
            self.wait_for_one(summary, tell).await?;
        }
        let (store, embeddings) = (Arc::clone(&self.indexer.store), Arc::clone(&self.indexer.embeddings));
        let (model, length) = (self.indexer.options.model.clone(), self.length);
        self.under_way.spawn(async move {
            let embedded = embeddings.embed(&model, &pieces, PATIENCE).await?;
            let makes = embedded.vectors.first().map_or(0, |vector| number(vector.len()));
            if let Some(has) = length.filter(|has| *has != makes) {
                let collection = store.collection().to_owned();
                return Err(Error::Dimensions { collection, has, model: model.name, makes });
            }
            let chunks = pieces.len();
            store.put(pieces, embedded.vectors).await?;
            Ok((chunks, embedded.tokens))
        });
        Ok(())
    }

    async fn wait_for_one(
        &mut self,
        summary: &mut Summary,
        tell: &mut impl FnMut(Progress),
    ) -> Result<(), Error> {
        if let Some(done) = self.under_way.join_next().await {
            let (chunks, tokens) = done??;
            summary.chunks += chunks;
            summary.tokens += tokens;
            summary.requests += 1;
            tell(Progress::Stored { chunks });
        }
        Ok(())
    }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
