//! Requests about vector stores: their bodies, and filters on the attributes of files.

mod body;
mod conditions;

pub use body::{AddFile, CreateStore, SearchStore, UpdateStore};
pub(super) use body::{min_score, results};
pub(super) use conditions::filters;

/// The most results of a search, as OpenAI's API has it.
pub const MAX_RESULTS: u32 = 50;
