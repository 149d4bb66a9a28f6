//! Documents that an org gives to its agents.
//!
//! A document is a record, an object with its content, and its chunks in the vector database. The record alone decides:
//! an upload and a deletion change it and announce that, and an indexer makes the object and the chunks match it. It holds a
//! lease on the record meanwhile. So a message may be lost, repeated or late, and an indexer may die at any moment.
//!
//! A vector store is a named set of documents, which an attribute of theirs names ([`vector_store`]). [`vector_stores`] has
//! the flows of requests about one.
//!
//! [`record`] has the states and their transitions, which are pure. [`ports`] declares what is needed from outside,
//! [`requests`] the flows of requests, and [`work`] those of an indexer. Deliberately absent: how a document is indexed.

pub mod ports;
pub mod record;
pub mod requests;
mod update;
pub mod vector_store;
pub mod vector_stores;
pub mod work;

pub use record::{DocumentId, Record};
pub use vector_store::VectorStoreId;
