//! The two requests of a turn, as values.

use serde::Serialize;

use super::{
    artifact::Artifact, chat_message::ChatMessage, image::ClipboardImage, rag::RagCondition,
    turn_options::TurnOptions,
};
use crate::{
    id::{AgentContextId, ConversationContextId, SessionId, TurnId},
    non_empty::NonEmpty,
    response::ToolResult,
};

/// A request in one of the two scenarios.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one per request, and the common variant is the large one"
)]
pub enum AgentExecuteRequest {
    /// A new turn.
    UserTurn(UserTurn),
    /// Tool results for a waiting turn.
    ToolContinuation(ToolContinuation),
}

/// A new turn. Created only by parsing, so it always has some input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UserTurn {
    /// The id of the session, chosen by the client.
    pub session_id: SessionId,
    /// The id of the turn, chosen by the client.
    pub turn_id: TurnId,
    /// The instruction, as Markdown. Never blank.
    pub instruction: Option<String>,
    /// Files to reason about.
    pub input_artifacts: Vec<Artifact>,
    /// Pasted images.
    pub clipboard_images: Vec<ClipboardImage>,
    /// Conditions that limit retrieval. All of them must hold.
    pub rag_scope: Vec<RagCondition>,
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
    /// The id of the agent context.
    pub agent_context_id: Option<AgentContextId>,
    /// The id of the conversation context.
    pub conversation_context_id: Option<ConversationContextId>,
    /// Settings of this turn from another API of the service. No client of this one can send them.
    pub options: Option<Box<TurnOptions>>,
    /// Messages before the input that no stored turn has, oldest first. No client of this API can send them.
    pub ancestry: Vec<ChatMessage>,
}

/// Tool results for a waiting turn. Created only by parsing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
#[non_exhaustive]
pub struct ToolContinuation {
    /// The session.
    pub session_id: SessionId,
    /// The waiting turn.
    pub turn_id: TurnId,
    /// The results, in the client's order.
    pub tool_results: NonEmpty<ToolResult>,
    /// A text of the user that came with the results. No client of this API can send it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl From<ToolContinuation> for AgentExecuteRequest {
    fn from(continuation: ToolContinuation) -> Self {
        Self::ToolContinuation(continuation)
    }
}

impl AgentExecuteRequest {
    /// The session.
    #[must_use]
    pub fn session_id(&self) -> &SessionId {
        match self {
            Self::UserTurn(turn) => &turn.session_id,
            Self::ToolContinuation(continuation) => &continuation.session_id,
        }
    }

    /// The turn.
    #[must_use]
    pub fn turn_id(&self) -> &TurnId {
        match self {
            Self::UserTurn(turn) => &turn.turn_id,
            Self::ToolContinuation(continuation) => &continuation.turn_id,
        }
    }
}
