//! The agent's domain logic: composing prompts, tools and their results, and the outcome of a turn.
//!
//! [`mode`], [`context`], [`connection`] and [`tool`] define what a turn works with besides its request. [`attachments`] holds the
//! files that go with it, [`history`] the turns before it, and [`retrieval`] the context from its org's index.
//! [`model`] is the port to the language model, [`attempt`] the durable state of a turn's work, and [`outcome`] the
//! stored result. [`prompt`] composes the next model request from all of them. [`title`] names a session after its first
//! turn.
//!
//! The crate does no I/O, knows no provider's wire format, and has no rules about who may write what. Those are in
//! `protocol`.

pub mod attachments;
pub mod attempt;
pub mod connection;
pub mod context;
pub mod fault;
pub mod history;
mod members;
pub mod mode;
pub mod model;
pub mod outcome;
pub mod output_filter;
pub mod prompt;
pub mod retrieval;
pub mod text;
pub mod title;
pub mod tool;
pub mod webhook;
