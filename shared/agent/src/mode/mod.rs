//! Modes: how the model works in a session, and with which tools.
//!
//! A mode is static data: the [`Catalog`] is read once, checked as a whole, and never changes while the service
//! runs. The session records the mode it is in, and a turn changes it; both live elsewhere.

mod catalog;
mod check;
mod definition;
pub(crate) mod parse;
mod prompt;
mod rag_hint;
pub(crate) mod string_check;
#[cfg(test)]
mod tests;

pub use catalog::Catalog;
pub use definition::{Mode, Status};
pub use rag_hint::{InvalidHint, RagHint};

/// The key of the mode that new sessions start in.
pub const GENERAL: &str = "general";

/// Turns a mode's key into words, for a key that is in no catalog.
#[must_use]
pub fn display_name(key: &str) -> String {
    let mut words = key.split('_').filter(|word| !word.is_empty()).map(|word| {
        let mut letters = word.chars();
        letters
            .next()
            .map(|first| first.to_uppercase().chain(letters).collect::<String>())
            .unwrap_or_default()
    });
    let first = words.next().unwrap_or_default();
    words.fold(first, |name, word| name + " " + &word)
}
