//! Anthropic's Messages API: request, event stream, and the reply that it yields.
//!
//! The whole conversation is sent with every request. Thinking blocks are sent back unchanged, with their signatures,
//! and cache points let the provider reuse the stable prefix. Events are read leniently.

pub mod accumulator;
pub mod builder;
pub mod request;
