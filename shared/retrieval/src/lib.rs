//! Retrieval: chunks of an org's sources that a turn is about, from Qdrant.
//!
//! [`Retriever`] is the adapter of [`agent::retrieval::Retrieval`]. [`filter`] says what a search may return, and the
//! tenant is part of it whatever was asked; [`query`] is the search. Both are pure.
//!
//! [`payload`] is what a point of the database holds, [`collection`] how a collection is laid out, [`terms`] the sparse
//! vector of a text, [`connection`] how the database is reached. Whoever writes points and whoever searches them
//! use these and no others, so both mean the same.
//!
//! [`sessions`] is the index of sessions, in a collection of its own.

mod channel;
pub mod collection;
pub mod connection;
pub mod filter;
pub mod payload;
pub mod point;
pub mod query;
pub mod retriever;
pub mod sessions;
pub mod terms;

pub use connection::Connection;
pub use payload::Payload;
pub use retriever::Retriever;
pub use sessions::SessionPoints;
