//! Failures of the source commands.

/// A failure of a source command. One line each.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The local cloud does not start.
    #[error(transparent)]
    Cloud(#[from] crate::Error),
    /// No local cloud is running on the data folder.
    #[error(transparent)]
    NotRunning(#[from] crate::discovery::NotRunning),
    /// The embedded engine, or the reader of documents, can't be found or built.
    #[error(transparent)]
    Program(#[from] crate::programs::Error),
    /// The vector database's URL is invalid.
    #[error(transparent)]
    Url(#[from] retrieval::connection::InvalidUrl),
    /// The provider's base URL is invalid.
    #[error(transparent)]
    ProviderUrl(#[from] llm::config::ConfigError),
    /// The indexing run failed.
    #[error(transparent)]
    Run(#[from] indexing::run::Error),
    /// The embedding provider can't be used.
    #[error(
        "The embedding provider at {url} failed: {error}. Stored chunks are kept; run it again to continue"
    )]
    Provider {
        /// URL of the provider.
        url: String,
        /// The failure.
        error: llm::Error,
    },
    /// The vector database can't be used.
    #[error("The vector database at {url} failed: {error}. Stored chunks are kept; run it again to continue")]
    Server {
        /// URL of the database.
        url: String,
        /// The failure.
        error: retrieval::connection::QdrantError,
    },
    /// The folder can't be watched.
    #[error("Can't watch the folder: {0}")]
    Watch(#[from] indexing::watch::Error),
    /// The vector database does not respond.
    #[error("{0} (is it running, and is anything indexed?)")]
    Database(#[from] retrieval::connection::QdrantError),
    /// The search failed.
    #[error("{0}")]
    Search(#[from] agent::retrieval::Error),
    /// The collection can't be searched.
    #[error("The collection {0} has no unambiguous dense vector")]
    Layout(String),
    /// The collection was indexed with another model.
    #[error(
        "The collection's vectors have {has} dimensions, but the question's vector has {question}. Pass the --model that the collection was indexed with."
    )]
    Dimensions {
        /// Dimensions of the collection.
        has: u64,
        /// Dimensions of the question's vector.
        question: usize,
    },
    /// The questions can't be read.
    #[error("Can't read the questions: {0}")]
    Questions(String),
    /// The file of questions can't be read.
    #[error(transparent)]
    File(#[from] crate::json_file::Error),
    /// Reading a file or writing to the terminal failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
