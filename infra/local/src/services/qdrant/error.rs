//! Failures of the embedded vector database.

/// A failure of the embedded vector database.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The engine can't be built.
    #[error("Can't build the embedded Qdrant: {0}")]
    Build(String),
    /// The engine does not start.
    #[error("Can't start the embedded Qdrant: {0}")]
    Start(String),
}
