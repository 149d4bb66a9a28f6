//! A run compares the folder with the database and applies the difference.

mod compare;
mod error;
mod file_version;
mod indexed_state;
mod indexer;
mod options;
mod pipeline;
mod point;
mod progress;
mod splits;
mod store;
mod summary;

pub use error::Error;
pub use indexed_state::IndexedState;
pub use indexer::Indexer;
pub use options::{KNOWLEDGE_REPO, Options, Source};
pub use progress::Progress;
pub use summary::Summary;
