//! Anthropic's Messages API: requests, and replies as events.

mod plan;
mod request;
mod validate;

pub(crate) use plan::lay_out;
pub(crate) use request::{OVERFLOW, authorize, read};
