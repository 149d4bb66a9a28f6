//! What a turn's mode changes come to (AGN-011 §5.1, §5.6).

use contracts::Timestamp;

use super::{Effect, Executed};
use protocol::detail::StagedMode;

/// The turn's staged mode after these calls, and a warning when it was changed more than once: the last
/// successful change wins (AGN-011 §5.1).
///
/// `earlier` is what former rounds of the turn staged. Calls that failed have no effects, so a failed
/// change never counts.
#[must_use]
pub fn fold_mode<'a>(
    earlier: Option<StagedMode>,
    ran: impl IntoIterator<Item = &'a Executed>,
    at: Timestamp,
) -> (Option<StagedMode>, Option<String>) {
    let mut staged = earlier;
    let mut warning = None;
    for effect in ran.into_iter().flat_map(|ran| &ran.effects) {
        let Effect::StageMode(change) = effect else { continue };
        if staged.is_some() {
            let mode = &change.mode;
            warning = Some(format!(
                "The mode was changed more than once in this turn. The last change, to `{mode}`, counts."
            ));
        }
        staged = Some(change.clone().at(at));
    }
    (staged, warning)
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
    use contracts::response::ToolOutcome;

    use super::*;
    use crate::{model::FunctionCall, tool::StageMode};

    fn changed(modes: &[&str]) -> Executed {
        let stage = |mode: &&str| {
            Effect::StageMode(StageMode { mode: (*mode).to_owned(), branch: false, reason: "why".to_owned() })
        };
        Executed {
            call: FunctionCall { call_id: "c".into(), name: "n".into(), arguments: String::new() },
            outcome: ToolOutcome::ResultJson("{}".to_owned()),
            execution_ms: 0,
            effects: modes.iter().map(stage).collect(),
        }
    }

    #[test]
    fn the_last_successful_change_wins_and_several_are_warned_about() {
        let at = Timestamp::from_millis(5);
        let (staged, warning) = fold_mode(None, &[changed(&["a"])], at);
        assert_eq!((staged.as_ref().map(|s| s.mode.as_str()), warning), (Some("a"), None));
        assert_eq!(staged.as_ref().map(|s| s.at), Some(at));
        assert_eq!(fold_mode(staged.clone(), &[changed(&[])], at), (staged.clone(), None));
        let failed = changed(&["c"]).into_failed("no");
        let (later, warning) = fold_mode(staged, &[changed(&["b"]), failed], at);
        assert_eq!(later.map(|s| s.mode).as_deref(), Some("b"));
        assert!(warning.is_some_and(|text| text.contains("`b`")));
    }

    #[test]
    fn a_branch_is_surfaced_and_nothing_more() {
        let staged =
            |branch| StageMode { mode: "a".into(), branch, reason: "r".into() }.at(Timestamp::from_millis(0));
        assert!(branch_note(&staged(true)).is_some());
        assert_eq!(branch_note(&staged(false)), None);
    }
}
