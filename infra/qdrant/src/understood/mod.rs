//! What the protocol's messages ask for, in the engine's own types. What the engine can't do is refused here, by name.

mod collection;
mod filter;
mod point;
mod query;
mod selector;

pub(crate) use collection::{config, index};
pub(crate) use filter::filter;
pub(crate) use point::{id, ids, key, point};
pub(crate) use query::query;
pub(crate) use selector::{payload, vectors};
