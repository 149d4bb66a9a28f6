//! The language model behind an OpenAI-compatible Responses API: the adapter of
//! [`agent::model::Model`].
//!
//! What decides is pure and stands alone: [`builder`] lays out a request (AGN-003), [`sse`] reads an
//! event stream, [`fold`] makes one reply of its events, [`failure`] names what went wrong, and
//! [`retry`] says whether to ask again, [`breaker`] whether to ask at all. [`Client`] is the thin layer of effects
//! around them. [`embeddings`] asks the same kind of provider for vectors of texts, with the same retries.
//!
//! Deliberately absent: what a turn does about an error, chains that have to be rebuilt, the store of
//! payloads, and any provider's client library. Those parse events into closed enums, so an event type
//! that they don't know yet breaks the stream; our own wire types tolerate it.
//!
//! No prompt, answer, key or word of the provider reaches a log or an error (I14).

mod ask;
pub mod breaker;
pub mod builder;
pub mod client;
pub mod config;
pub mod embeddings;
pub mod failure;
pub mod fold;
pub mod kept;
pub mod key;
pub mod providers;
mod raw;
pub mod reader;
mod refusal;
pub mod retry;
mod retrying;
pub mod sse;
pub mod told;
mod trace;
pub mod wait;
pub mod wire;

pub use agent::model::{Error, Observer};
pub use client::{Client, Config};
pub use key::ApiKey;
pub use providers::Providers;
