//! Decodes protocol messages into the engine's types. Refuses by name whatever the engine can't do.

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
