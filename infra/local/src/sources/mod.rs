//! Indexing and searching from the command line, against the local cloud, or against any Qdrant and embedding
//! provider.

mod error;
mod evaluation;
mod index;
mod progress;
mod search;
mod target;

pub use error::Error;
pub use evaluation::{Evaluation, evaluate};
pub use index::{Index, index};
pub use search::{SearchRequest, search_report};
pub use target::{Server, Target, TargetOptions, has_collection};
