//! Searches the org's sources: for the question of a request, and on the model's initiative.
//!
//! The question is embedded while the session is read. The search starts as soon as the contexts are known,
//! concurrently with the writes that start the turn. Both share a budget of two seconds from the start of the
//! request. A failure becomes a warning and the turn continues without excerpts. If this call doesn't start a turn,
//! the search is dropped.

pub(super) mod embed;
pub(super) mod excerpts;
pub(super) mod question;
pub(super) mod search;
#[cfg(test)]
mod test_polls;
