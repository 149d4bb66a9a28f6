//! Encodes the engine's results as protocol messages.

mod described;
mod found;

pub(crate) use described::info;
pub(crate) use found::{point_id, record, scored};
