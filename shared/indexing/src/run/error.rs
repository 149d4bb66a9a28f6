//! Failures of a run.

use std::io;

use agent::model::Error as ModelError;
use retrieval::connection::QdrantError;

/// The reason a run ended early. Stored chunks remain, and the next run continues from there.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder is unreadable.
    #[error("can't read the folder: {0}")]
    Folder(#[from] io::Error),
    /// The folder has no file to index, and the repository has indexed files.
    #[error(
        "the folder has no files to index, and {files} files of the repository {repo} are indexed. Nothing was deleted. Pass \
         --remove to delete them"
    )]
    Emptied {
        /// The repository.
        repo: String,
        /// The number of its files.
        files: usize,
    },
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
