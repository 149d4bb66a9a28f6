//! The Responses API on the wire, as far as this adapter speaks it.
//!
//! Requests are only written and events are only read. What is read is read tolerantly: an event,
//! item or part of a type that is not listed here is skipped, and members that nobody reads are not
//! named.

pub mod error;
pub mod event;
pub mod item;
pub mod request;
pub mod usage;
