//! Modes: how the model works in a session, and with which tools.
//!
//! The built-in modes are static data. An org may replace them and add its own; the [`Catalog`] of a turn holds both.
//! The session records the mode it is in, and a turn changes it; both live elsewhere, as do the org's modes.

mod catalog;
mod check;
mod definition;
mod key;
pub(crate) mod parse;
mod prompt;
mod rag_hint;
#[cfg(test)]
mod tests;

pub use catalog::{Catalog, built_in_modes};
pub use check::MAX_MODES;
pub use definition::{Mode, Status};
pub use key::{GENERAL, display_name};
pub use rag_hint::{InvalidHint, RagHint};
