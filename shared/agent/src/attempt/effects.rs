//! The effects of an attempt that take place when its turn completes.

use contracts::response::{FileRef, ToolResult};
use protocol::{detail::StagedMode, turn::Turn};
use serde::{Deserialize, Serialize};

use crate::tool::MAX_MODE_CHANGES;

/// The beginning of the warning about several mode changes.
const MULTIPLE_CHANGES: &str = "The mode was changed more than once in this turn.";

/// The note for the user if the last mode change suggests a new branch. The suggestion has no other effect.
const BRANCH_SUGGESTION: &str =
    "The assistant suggests continuing this line of work in a new branch of the conversation.";

/// The effects that are staged until the turn completes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct StagedEffects {
    /// The turn's mode changes, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<StagedMode>,
    /// Published files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileRef>,
    /// Results of server tools, for the final response.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_results: Vec<ToolResult>,
    /// Warnings for the user, for the final response.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl StagedEffects {
    /// Returns the turn's current mode. A staged change applies at once.
    #[must_use]
    pub fn mode<'a>(&'a self, turn: &'a Turn) -> &'a str {
        self.modes.last().map_or(&turn.mode, |staged| &staged.mode)
    }

    /// Changes the mode. Returns false and changes nothing if the turn has used up its mode changes. The user is told of
    /// the last change alone: it is the one that counts.
    pub fn stage_mode(&mut self, change: StagedMode) -> bool {
        if self.modes.len() >= MAX_MODE_CHANGES {
            return false;
        }
        let repeated = (!self.modes.is_empty())
            .then(|| format!("{MULTIPLE_CHANGES} The last change, to `{}`, counts.", change.mode));
        self.replace_warning(MULTIPLE_CHANGES, repeated);
        self.replace_warning(BRANCH_SUGGESTION, change.branch.then(|| BRANCH_SUGGESTION.to_owned()));
        self.modes.push(change);
        true
    }

    /// True if a server tool ran. Each of them leaves a result.
    #[must_use]
    pub fn ran_server_tools(&self) -> bool {
        !self.tool_results.is_empty()
    }

    /// Adds a warning for the user, once.
    pub fn warn(&mut self, warning: &str) {
        if !self.warnings.iter().any(|other| other == warning) {
            self.warnings.push(warning.to_owned());
        }
    }

    /// Removes the warnings that begin like this, and adds the one that is true now, if any. For a fact that later
    /// rounds change.
    pub fn replace_warning(&mut self, beginning: &str, warning: Option<String>) {
        self.warnings.retain(|other| !other.starts_with(beginning));
        self.warnings.extend(warning);
    }
}

#[cfg(test)]
mod tests {
    use contracts::Timestamp;

    use super::*;

    #[test]
    fn mode_changes_are_recorded_in_order_and_bounded() {
        let change = |number: usize| StagedMode {
            mode: format!("mode_{number}"),
            reason: "why".to_owned(),
            branch: false,
            at: Timestamp::from_millis(0),
        };
        let mut effects = StagedEffects::default();
        assert!((0..MAX_MODE_CHANGES).all(|number| effects.stage_mode(change(number))));
        assert!(!effects.stage_mode(change(MAX_MODE_CHANGES)));
        assert_eq!(effects.modes, (0..MAX_MODE_CHANGES).map(change).collect::<Vec<_>>());
    }

    #[test]
    fn warnings_are_those_of_the_last_mode_change() {
        let mut effects = StagedEffects::default();
        effects.warn("Another.");
        let mut change = |mode: &str, branch| {
            let (mode, reason) = (mode.to_owned(), "r".to_owned());
            effects.stage_mode(StagedMode { mode, reason, branch, at: Timestamp::from_millis(0) });
            effects.warnings.clone()
        };
        let repeated = |mode| format!("{MULTIPLE_CHANGES} The last change, to `{mode}`, counts.");
        assert_eq!(change("a", true), ["Another.", BRANCH_SUGGESTION]);
        assert_eq!(change("b", true), ["Another.", &repeated("b"), BRANCH_SUGGESTION]);
        assert_eq!(change("c", false), ["Another.", &repeated("c")]);
    }
}
