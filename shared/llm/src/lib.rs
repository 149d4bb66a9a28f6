//! A client for OpenAI-compatible Responses APIs: the adapter of [`agent::model::Model`].
//!
//! The decisions are pure: [`builder`] builds a request, [`sse`] decodes an event stream, [`accumulator`] turns its
//! events into one reply, and [`failure`] classifies errors. [`retry`] decides whether to retry, and [`breaker`] whether
//! to call at all. [`Client`] is the thin I/O layer around them. [`embeddings`] requests vectors from the same kind of
//! provider, with the same retries.
//!
//! Out of scope: how a turn reacts to an error, rebuilding a lost chain, payload storage, and any provider's client
//! library. Client libraries parse events into closed enums, so a new event type breaks the stream; our own wire types
//! tolerate it.
//!
//! No prompt, answer, key or provider text reaches a log or an error (I14).

pub mod accumulator;
mod auth;
pub mod breaker;
pub mod builder;
mod call;
pub mod client;
pub mod clock;
pub mod config;
pub mod embeddings;
pub mod error_info;
mod error_response;
pub mod failure;
pub mod key;
pub mod probe;
pub mod provider_message;
pub mod providers;
pub mod reader;
pub mod retry;
mod retry_loop;
pub mod signing_scope;
pub mod sse;
pub mod stored_responses;
mod trace;
pub mod wire;
mod wire_capture;

pub use agent::model::{Error, Observer};
pub use client::{Client, Config};
pub use key::ApiKey;
pub use providers::Providers;
