//! Failures of the embedded vector database.

use crate::programs;

/// A failure of the embedded vector database.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The engine's program can't be found or built.
    #[error(transparent)]
    Program(#[from] programs::Error),
    /// The engine does not start.
    #[error("Can't start the embedded Qdrant: {0}")]
    Start(String),
}
