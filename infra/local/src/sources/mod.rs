//! Indexing and searching from the command line: against the local cloud, or against any Qdrant and any provider.

mod evaluation;
mod indexed;
mod place;
mod question;
mod shown;

pub use evaluation::{Evaluation, evaluate};
pub use indexed::{Index, index};
pub use place::{Place, Server, Where};
pub use question::{Asked, search};

/// Why a command about sources ended early. One line each.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The local cloud does not start.
    #[error(transparent)]
    Cloud(#[from] crate::Error),
    /// There is no local cloud to use.
    #[error(transparent)]
    NotRunning(#[from] crate::running::NotRunning),
    /// The embedded engine can't be had.
    #[error(transparent)]
    Qdrant(#[from] crate::services::qdrant::Error),
    /// The vector database's URL is none.
    #[error(transparent)]
    Url(#[from] retrieval::connection::Unusable),
    /// The provider's base URL is none.
    #[error(transparent)]
    Provider(#[from] llm::config::Unusable),
    /// The run ended early.
    #[error(transparent)]
    Run(#[from] indexing::run::Error),
    /// The folder can't be watched.
    #[error("cannot watch the folder: {0}")]
    Watch(#[from] indexing::watch::Error),
    /// The database does not answer.
    #[error("{0}; index something first, or see that it runs")]
    Database(#[from] retrieval::connection::Failure),
    /// The provider makes no vector.
    #[error("the question could not be made a vector: {0}")]
    Embedding(#[from] llm::Error),
    /// The collection can't be searched.
    #[error("the collection {0} has no dense vector that could be meant")]
    Layout(String),
    /// The collection was made for another model.
    #[error(
        "the collection's vectors have {has} dimensions and the question's has {asked}: name the model that indexed it"
    )]
    Dimensions {
        /// The collection's.
        has: u64,
        /// The question's.
        asked: usize,
    },
    /// The questions can't be read.
    #[error("cannot read the questions: {0}")]
    Questions(String),
    /// The terminal takes no more.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
