//! Bounds of the stored rounds.

use super::Round;

/// Maximum size of the stored earlier rounds of a running turn, in bytes. No model reads more at once.
pub const MAX_RUNNING_BYTES: usize = 8 << 20;

/// Maximum size of the stored rounds of a completed turn, in bytes.
pub const MAX_COMPLETED_BYTES: usize = 1 << 20;

/// Returns the newest of these rounds that fit in `max_bytes`, oldest first. Rounds that don't fit are truncated. At
/// the first that doesn't fit even so, it and all older ones are dropped.
#[must_use]
pub fn within_bytes(rounds: Vec<Round>, max_bytes: usize) -> Vec<Round> {
    let mut left = max_bytes;
    let sized = rounds.into_iter().rev().map_while(|round| {
        let round = if round.size() <= left { round } else { round.brief() };
        left = left.checked_sub(round.size())?;
        Some(round)
    });
    let mut newest: Vec<Round> = sized.collect();
    newest.reverse();
    newest
}
