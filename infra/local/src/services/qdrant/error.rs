//! Failures of the embedded vector database.

/// A failure of the embedded vector database.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The engine can't be built.
    #[error("Can't build the embedded Qdrant: {0}")]
    Build(String),
    /// No program of the engine is installed.
    #[error(
        "There is no {name} in {folders}. Pass --qdrant URL to use a Qdrant server, or copy {name} there from a release \
         of aptix that includes it."
    )]
    Missing {
        /// Name of the program.
        name: String,
        /// Folders that were searched.
        folders: String,
    },
    /// The engine does not start.
    #[error("Can't start the embedded Qdrant: {0}")]
    Start(String),
}
