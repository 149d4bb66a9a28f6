//! Errors of calls, as the client gets them.

use qdrant_edge::OperationError;
use tonic::Status;

/// The system's text for a full disk, which the engine's errors quote.
const DISK_FULL: &str = "No space left on device";

/// Error of a call.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// The text of the real server, which clients look for.
    #[error("Not found: Collection `{0}` doesn't exist!")]
    NoCollection(String),
    #[error("Collection `{0}` already exists!")]
    CollectionExists(String),
    /// The text of the real server.
    #[error(
        "Bad request: Index required but not found for \"{key}\" of one of the following types: [{types}]. Help: Create an index for this key or use a different filter."
    )]
    Unindexed { key: String, types: String },
    #[error("{0}")]
    Invalid(String),
    #[error("the embedded engine does not do {0}; name a real server with QDRANT_URL")]
    Unsupported(&'static str),
    #[error("{0}")]
    Engine(#[from] OperationError),
    #[error("cannot use the folder of the collections: {0}")]
    Folder(#[from] std::io::Error),
    #[error("the call was cut short: {0}")]
    CutShort(#[from] tokio::task::JoinError),
}

impl Refusal {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(message.into())
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        if message.contains(DISK_FULL) {
            return Self::resource_exhausted(message);
        }
        match refusal {
            Refusal::NoCollection(_) => Self::not_found(message),
            Refusal::CollectionExists(_) => Self::already_exists(message),
            Refusal::Unindexed { .. } | Refusal::Invalid(_) => Self::invalid_argument(message),
            Refusal::Unsupported(_) => Self::unimplemented(message),
            // Vectors of a wrong size or name, and filters that make no sense: the caller's to fix.
            Refusal::Engine(
                OperationError::WrongVectorDimension { .. }
                | OperationError::VectorNameNotExists { .. }
                | OperationError::ValidationError { .. }
                | OperationError::TypeError { .. },
            ) => Self::invalid_argument(message),
            Refusal::Engine(_) | Refusal::Folder(_) | Refusal::CutShort(_) => Self::internal(message),
        }
    }
}
