//! Amazon Bedrock's Converse API: requests, and replies as frames of an event stream.

mod frame;
mod plan;
mod request;
mod validate;

pub(crate) use plan::lay_out;
pub(crate) use request::{OVERFLOW, authorize, read};
