//! The model providers of a deployment, from the functions' settings: their URLs, keys and timeouts. [`StoredResponses`]
//! deletes the responses that they store.
//!
//! Model calls are out of scope: turns make them through [`crate::app`], and [`crate::titles`] asks for titles.

mod client_config;
mod key;
mod registry;
mod stored_responses;

pub use key::{CachedKey, KeyConfig};
pub use registry::{IN_TABLE, Provider, ResolvedProviders, Settings, check, load_stored};
pub use stored_responses::StoredResponses;
