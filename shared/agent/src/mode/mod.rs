//! Modes: how the model works in a session, and with which tools.
//!
//! A mode is static data: the [`Catalog`] is read once, checked as a whole, and never changes while the service
//! runs. The session records the mode it is in, and a turn changes it; both live elsewhere.

mod catalog;
mod check;
mod definition;
mod key;
pub(crate) mod parse;
mod prompt;
mod rag_hint;
pub(crate) mod string_check;
#[cfg(test)]
mod tests;

pub use catalog::Catalog;
pub use definition::{Mode, Status};
pub use key::{GENERAL, display_name};
pub use rag_hint::{InvalidHint, RagHint};
