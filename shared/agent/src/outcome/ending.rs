//! The ending of an attempt.

use protocol::detail::StagedMode;
use serde::Serialize;

use crate::{
    attempt::{RecoveryPoint, history_window::HistoryWindow},
    model::TextPart,
    tool::rounds::{ModelCallInfo, Round},
};

/// The ending of an attempt.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "Kind", rename_all = "snake_case", rename_all_fields = "PascalCase")]
pub enum Ending {
    /// An answer.
    Completed {
        /// A mode change that takes effect when the turn completes (rule 8).
        #[serde(skip_serializing_if = "Option::is_none")]
        staged_mode: Option<StagedMode>,
        /// The turn's mode changes before that one, oldest first.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        earlier_modes: Vec<StagedMode>,
        /// The turn's tool rounds, bounded in size, for a replay of the session's history.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_rounds: Vec<Round>,
        /// The history window of the turn's requests, if they replayed earlier turns.
        #[serde(skip_serializing_if = "Option::is_none")]
        history_window: Option<Box<HistoryWindow>>,
        /// The `[CONTEXT]` block of the turn's message, for a replay.
        #[serde(skip_serializing_if = "Option::is_none")]
        context_block: Option<String>,
        /// The model call that returned the answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        model_call: Option<Box<ModelCallInfo>>,
        /// The parts of the answer, if one of them has a phase.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        answer_parts: Vec<TextPart>,
    },
    /// An error.
    Failed {
        /// The turn's tool rounds, bounded in size.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_rounds: Vec<Round>,
        /// The model call that failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        model_call: Option<Box<ModelCallInfo>>,
        /// The partial answer, if any.
        #[serde(skip_serializing_if = "Option::is_none")]
        partial: Option<String>,
    },
    /// Calls for the client to run.
    Suspended {
        /// The pending calls, the results of server tools, and the settings, so that any process can continue.
        recovery_point: Box<RecoveryPoint>,
    },
}
