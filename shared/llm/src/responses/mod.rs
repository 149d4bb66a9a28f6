//! The Responses API: request, event stream, and the reply that it yields.
//!
//! Requests are only serialized and events only deserialized. Deserialization is lenient: unknown types of events, items
//! and parts are skipped, and unused members are not listed.

pub mod accumulator;
pub mod builder;
pub mod event;
pub mod item;
pub mod request;
