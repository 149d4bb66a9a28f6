//! The Chat Completions API: request, stream of chunks, and the reply that it yields.
//!
//! The published API is OpenAI's; the servers that this wire is for implement parts of it. A request therefore has only
//! the members that all of them read, and optional ones only if the context sets them. Chunks are read leniently.

pub mod accumulator;
pub mod builder;
mod chunk;
pub mod request;
