//! Retrieval: searches an org's indexed sources in Qdrant.
//!
//! [`Retriever`] is the adapter of [`agent::retrieval::Retrieval`]. [`filter`] builds the conditions of a search,
//! always with the tenant's; [`query`] builds the requests of a search. Both are pure. [`search`] runs them.
//!
//! [`payload`] is the payload of a point, [`collection`] the layout of a collection, [`sparse_vector`] the sparse
//! vector of a text, and [`connection`] the access to the database. Indexer and search share them, so that both
//! agree.
//!
//! [`sessions`] is the index of sessions, in a collection of its own.

mod channel;
pub mod collection;
pub mod connection;
pub mod filter;
pub mod payload;
pub mod point;
pub mod query;
mod relevance;
pub mod retriever;
pub mod search;
pub mod sessions;
pub mod sparse_vector;
mod stop_words;

pub use connection::Connection;
pub use payload::{AttributeValue, Payload};
pub use retriever::Retriever;
pub use sessions::SessionPoints;
