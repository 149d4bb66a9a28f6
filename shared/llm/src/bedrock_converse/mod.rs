//! Bedrock's Converse API: request, event stream, and the reply that it yields.
//!
//! One API for the models of many vendors: Claude, Nova, Llama, Mistral and others. The whole conversation is sent with
//! every request. Reasoning is sent back unchanged, with its signature, and cache points let the provider reuse the stable
//! prefix. Events are read leniently. Requests are signed, or carry a Bedrock API key.

pub mod accumulator;
pub mod builder;
mod family;
pub mod request;
