//! Limits of a turn's mode changes and searches, and the texts about them for model and user.

use protocol::detail::StagedMode;

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

/// Returns the warning for the user if a turn changed the mode more than once: the last change counts.
#[must_use]
pub fn multiple_changes_warning(last: &StagedMode) -> String {
    let mode = &last.mode;
    format!("The mode was changed more than once in this turn. The last change, to `{mode}`, counts.")
}

/// Returns the note for the user if the change suggests a new branch; it has no other effect.
#[must_use]
pub fn branch_suggestion(staged: &StagedMode) -> Option<String> {
    staged.branch.then(|| {
        "The assistant suggests continuing this line of work in a new branch of the conversation.".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use contracts::Timestamp;

    use super::*;
    use crate::tool::StageMode;

    #[test]
    fn branch_suggestion_is_returned_if_requested() {
        let staged = |branch| {
            StageMode { mode: "a".into(), branch, reason: "r".into() }.into_staged(Timestamp::from_millis(0))
        };
        assert!(branch_suggestion(&staged(true)).is_some());
        assert_eq!(branch_suggestion(&staged(false)), None);
    }
}
