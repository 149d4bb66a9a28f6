//! Limits of a turn's mode changes and searches, and the texts about them for the model.

/// The maximum number of mode changes in a turn. All of them go into the transaction that finalizes it.
pub const MAX_MODE_CHANGES: usize = 16;

/// The maximum number of searches in one reply. They run one after another, each with the time budget of a turn's
/// own search.
pub const MAX_SEARCHES: usize = 8;

/// Returns the error text for the model if a reply exceeds the searches.
#[must_use]
pub fn search_limit_message() -> String {
    format!(
        "One reply may search {MAX_SEARCHES} times, so this search was not run. Repeat it in your next reply."
    )
}

/// Returns the error text for the model if a turn exceeds the mode changes.
#[must_use]
pub fn mode_change_limit_message() -> String {
    format!(
        "The mode was changed {MAX_MODE_CHANGES} times in this turn, which is the limit. The mode is unchanged."
    )
}
