//! Modes: how the model works in a session, and with which tools (AGN-011).
//!
//! A mode is design-time data: the [`Catalog`] is read once, checked as a whole, and never changes
//! while the service runs. Deliberately absent: which mode a session is in (that is the session's) and
//! when it changes (that is the turn's).

mod catalog;
mod catalog_check;
mod entry;
mod prompt;
mod rag_hint;
pub(crate) mod shape;
#[cfg(test)]
mod tests;
pub(crate) mod wording;

pub use catalog::Catalog;
pub use entry::{Mode, Status};
pub use rag_hint::{InvalidHint, RagHint};

/// The mode that new sessions start in (AGN-011 §3.1).
pub const GENERAL: &str = "general";

/// A mode's key as words, for a key that no catalog explains (AGN-033 §3.1).
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
