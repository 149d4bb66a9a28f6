//! The model providers of a deployment, from the functions' settings: where they are, with which keys, how long they are
//! waited for. And what can be done with them without asking a model: [`Kept`] removes responses that they keep.
//!
//! Deliberately absent: every way to ask a model. Whoever removes what is kept depends on this and not on `llm`.

mod declared;
mod kept;
mod key;
mod reached;

pub use declared::{Keyed, Provider, Settings};
pub use kept::Kept;
pub use key::{ProviderKey, Source};
