//! The resolved settings of a turn.

use contracts::read::AgentSessionActiveFileRef;
use protocol::{
    chain::{ChainStart, ConversationStatePolicy, HistoryOwner},
    session::SolutionContext,
};
use serde::{Deserialize, Serialize};

use crate::{
    model::{model_settings::ModelSettings, route::Route},
    retrieval::Sources,
    tool::{Definition, remote::RemoteTool},
};

/// The resolved settings of a turn, fixed at its start. Neither a redeployment nor a mode change alters them midway.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct TurnSpec {
    /// The provider and model to call, and the model's prices.
    pub route: Route,
    /// The models to fall back to if the model can't answer, in order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub fallbacks: Vec<Route>,
    /// Sampling and output settings for the model.
    #[serde(default)]
    pub settings: ModelSettings,
    /// The texts of the system message.
    pub prompt: PromptSpec,
    /// The tools and their limits.
    pub tools: ToolSpec,
    /// The history policy.
    pub history: HistorySpec,
    /// The files and sources that the model gets besides the instruction.
    #[serde(default)]
    pub inputs: InputSpec,
    /// Set if raw request and response payloads are stored.
    #[serde(default)]
    pub store_raw_payloads: bool,
}

/// The texts of an initial request's system message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct PromptSpec {
    /// The base system prompt.
    pub system: String,
    /// The other parts of the system message, in order.
    pub parts: Vec<String>,
    /// The session's solution context at the start.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub solution: Option<SolutionContext>,
}

/// The tools of a turn and their limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ToolSpec {
    /// The merged tools of the client, the mode and the server, and `agent_change_mode`.
    pub definitions: Vec<Definition>,
    /// The remote ones among them, with their connections.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub remote: Vec<RemoteTool>,
    /// The tool that the first model call must call.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub choice: Option<String>,
    /// True if requests that continue from a response include the tools too.
    pub on_continuation: bool,
    /// Maximum number of tool rounds.
    pub max_rounds: u32,
    /// Time limit for the client's tools, in seconds.
    pub deadline_seconds: u64,
}

/// The policy for the turns before this one: their owner, and their share of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct HistorySpec {
    /// The owner of the conversation history: the provider or this service.
    pub owner: HistoryOwner,
    /// The operator's policy for the owner of the history.
    pub policy: ConversationStatePolicy,
    /// The start of the provider chain, if it differs from the one in the turn's head because contexts were edited
    /// before a takeover.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub start: Option<ChainStart>,
    /// Token budget for earlier turns in a request.
    pub tokens: u32,
    /// Set if the model summarizes the turns that exceed the budget.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub summarize: bool,
    /// First depth of the turn's ancestry that is independent of a purged or hidden session; 0 if the ancestry is
    /// complete.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub cutoff_depth: u64,
    /// Last depth of the turn's ancestry that is left out because its session is hidden; 0 if none is.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub hidden_depth: u64,
    /// True if the turns since the last completed one may have called tools. A provider that stores the conversation
    /// doesn't know them.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub follows_unanswered: bool,
}

/// The files and sources of a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct InputSpec {
    /// The files that came with the turn, and which of them the model gets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<AgentSessionActiveFileRef>,
    /// The collection and filters that the turn searches. `None` without retrieval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<Sources>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(depth: &u64) -> bool {
    *depth == 0
}
