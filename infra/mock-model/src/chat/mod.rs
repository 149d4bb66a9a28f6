//! The Chat Completions API: requests, and replies as chunks.

mod plan;
mod request;
mod validate;

pub(crate) use plan::lay_out;
pub(crate) use request::read;
