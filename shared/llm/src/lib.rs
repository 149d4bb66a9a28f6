//! A client for the APIs of model providers: the adapter of [`agent::model::Model`].
//!
//! Each wire has a folder: [`responses`], [`chat_completions`], [`anthropic_messages`] and [`bedrock_converse`]. Their
//! decisions are pure: a `builder` builds a request, and an `accumulator` turns events into one reply. The rest is common
//! to all wires: [`prompt`] has the texts of a request, [`reader`] decompresses a response and tells its form, [`sse`] and
//! [`event_stream`] decode a stream, [`block_reply`] collects a reply that comes in blocks, and [`failure`] classifies
//! errors. [`retry`] decides whether to retry, and the circuit breaker whether to call at all. [`Client`] is the thin I/O layer
//! around them.
//! [`embeddings`] requests vectors from an OpenAI-compatible provider, with the same retries.
//!
//! Out of scope: how a turn reacts to an error, rebuilding a lost chain, payload storage, and any provider's client
//! library. Client libraries parse events into closed enums, so a new event type breaks the stream; our own wire types
//! tolerate it.
//!
//! No prompt, answer, key or provider text reaches a log or an error (I14).

pub mod accumulator;
pub mod anthropic_messages;
mod auth;
pub mod bedrock_converse;
pub mod block_reply;
mod call;
pub mod chat_completions;
pub mod client;
pub mod clock;
mod compression;
pub mod config;
pub mod embeddings;
pub mod error_info;
pub mod error_object;
mod error_response;
pub mod event_stream;
pub mod failure;
mod json;
pub mod key;
pub mod model_list;
mod omissions;
pub mod outage;
pub mod probe;
pub mod prompt;
pub mod provider_message;
pub mod providers;
pub mod reader;
pub mod responses;
pub mod retry;
mod retry_loop;
pub mod signing_scope;
pub mod sse;
pub mod stored_responses;
pub mod tool_calls;
mod trace;
pub mod usage;
mod wire;
mod wire_capture;
mod yield_interval;

pub use agent::model::{Error, Observer, Wire};
pub use client::{Client, Config};
pub use config::ToolType;
pub use key::ApiKey;
pub use providers::Providers;
