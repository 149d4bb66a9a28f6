//! Retrieval: chunks of an org's sources that a turn is about, from Qdrant.
//!
//! [`payload`] is what a point of the database holds, [`collection`] how a collection is laid out, [`terms`] the sparse
//! vector of a text, [`connection`] how the database is reached. Whoever writes points and whoever searches them
//! use these and no others, so both mean the same.

pub mod collection;
pub mod connection;
pub mod payload;
pub mod point;
pub mod terms;

pub use connection::Connection;
pub use payload::Payload;
