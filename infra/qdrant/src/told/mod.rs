//! What the engine found, in the protocol's messages.

mod described;
mod found;

pub(crate) use described::info;
pub(crate) use found::{point_id, record, scored};
