//! Encodes the engine's results as protocol messages.

mod collection;
mod point;

pub(crate) use collection::info;
pub(crate) use point::{point_id, record, scored};
