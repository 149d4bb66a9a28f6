//! What a turn's mode changes and searches come to (AGN-011 §5.1, §5.6).

use protocol::detail::StagedMode;

/// How many times a turn may change the mode. All of its changes go into the transaction that finalizes it.
pub const MAX_MODE_CHANGES: usize = 16;

/// How many searches of one reply are made, one after another, each as long as a turn's own.
pub const MOST_SEARCHES: usize = 8;

/// What the model is told that wants more.
#[must_use]
pub fn too_many_searches() -> String {
    format!(
        "One reply may search {MOST_SEARCHES} times; this search was not made. Make it in your next reply."
    )
}

/// What the model is told that changes the mode once more.
#[must_use]
pub fn too_many_changes() -> String {
    format!(
        "The mode was changed {MAX_MODE_CHANGES} times in this turn, which is the most. It stays as it is."
    )
}

/// What the user is told of a turn that changed the mode more than once: the last change counts (AGN-011 §5.1).
#[must_use]
pub fn several_changes(last: &StagedMode) -> String {
    let mode = &last.mode;
    format!("The mode was changed more than once in this turn. The last change, to `{mode}`, counts.")
}

/// What the user is told about a suggested branch; nothing else comes of it (AGN-011 §5.6).
#[must_use]
pub fn branch_note(staged: &StagedMode) -> Option<String> {
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
    fn a_branch_is_surfaced_and_nothing_more() {
        let staged =
            |branch| StageMode { mode: "a".into(), branch, reason: "r".into() }.at(Timestamp::from_millis(0));
        assert!(branch_note(&staged(true)).is_some());
        assert_eq!(branch_note(&staged(false)), None);
    }
}
