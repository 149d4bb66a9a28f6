//! The effects of an attempt that take place when its turn completes.

use contracts::response::{FileRef, ToolResult};
use protocol::{detail::StagedMode, turn::Turn};
use serde::{Deserialize, Serialize};

use crate::tool::MAX_MODE_CHANGES;

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

    /// Changes the mode. Returns false and changes nothing if the turn has used up its mode changes.
    pub fn stage_mode(&mut self, change: StagedMode) -> bool {
        if self.modes.len() >= MAX_MODE_CHANGES {
            return false;
        }
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
}
