//! The wire types of the Responses API, as far as this adapter uses them.
//!
//! Requests are only serialized and events only deserialized. Deserialization is lenient: unknown types of events, items
//! and parts are skipped, and unused members are not listed.

pub mod error;
pub mod event;
pub mod item;
pub mod request;
pub mod usage;
