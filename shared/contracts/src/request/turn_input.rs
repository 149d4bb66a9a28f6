//! The input of a turn, which a client sends with a user turn and may replace in a rerun.

use super::{artifact::Artifact, execute::UserTurn, image::ClipboardImage, rag::RagCondition};
use crate::id::{SessionId, TurnId};

/// The input of a turn. A member that a rerun leaves out is that of the original turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnInput {
    /// The instruction, as Markdown. Never blank.
    pub instruction: Option<String>,
    /// Files to reason about.
    pub input_artifacts: Option<Vec<Artifact>>,
    /// Pasted images.
    pub clipboard_images: Option<Vec<ClipboardImage>>,
    /// Conditions that limit retrieval. All of them must hold.
    pub rag_scope: Option<Vec<RagCondition>>,
    /// The new solution context of the session. An empty text removes it.
    pub solution_context_text: Option<String>,
    /// The workspace. Advisory.
    pub workspace_id: Option<String>,
    /// The repository. Advisory.
    pub repo: Option<String>,
    /// The language. Advisory.
    pub language: Option<String>,
    /// True if the answer is streamed. Affects delivery only.
    pub streaming: bool,
}

impl UserTurn {
    /// Creates a turn without contexts.
    pub(super) fn new(session_id: SessionId, turn_id: TurnId, input: TurnInput) -> Self {
        Self {
            session_id,
            turn_id,
            instruction: input.instruction,
            input_artifacts: input.input_artifacts.unwrap_or_default(),
            clipboard_images: input.clipboard_images.unwrap_or_default(),
            rag_scope: input.rag_scope.unwrap_or_default(),
            solution_context_text: input.solution_context_text,
            workspace_id: input.workspace_id,
            repo: input.repo,
            language: input.language,
            streaming: input.streaming,
            options: None,
            ancestry: Vec::new(),
            agent_context_id: None,
            conversation_context_id: None,
        }
    }
}
