//! How a session's turns are run.

use std::time::Duration;

use contracts::id::ConversationContextId;
use protocol::chain::ChainPolicy;
use serde::{Deserialize, Serialize};

use super::{Fallback, Prices, limits};
use crate::{
    hosted::HostedTool,
    settings::{Effort, ServiceTier, Settings, TextFormat, Verbosity},
    tool::Definition,
};

/// The settings of a conversation (AGN-003 §2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct ConversationContext {
    /// What requests call it (AGN-034 §2.1, `ConversationContextId`).
    pub id: ConversationContextId,
    /// What session lists call it (DD-007).
    pub name: String,
    /// A provider of the deployment, by its name; absent: the default one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub provider: Option<String>,
    /// The provider's model id; absent: the configured one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model_name: Option<String>,
    /// The base system prompt; never blank (AGN-003 §4.1).
    pub system: String,
    /// Sent when set; some models refuse it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub temperature: Option<f64>,
    /// From which share of the likeliest words the model chooses; sent when set.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub top_p: Option<f64>,
    /// The most tokens that one reply may have.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_output_tokens: Option<u32>,
    /// How much a reasoning model may think; sent when set.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reasoning_effort: Option<Effort>,
    /// How many words the model makes; sent when set.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub verbosity: Option<Verbosity>,
    /// The JSON that answers have to be; absent: text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub text_format: Option<TextFormat>,
    /// How urgent the provider takes the requests to be; sent when set.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub service_tier: Option<ServiceTier>,
    /// Whether one reply may call several tools; sent when set.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub parallel_tool_calls: Option<bool>,
    /// The mode that sessions start in; absent: the catalog's default.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub default_mode: Option<String>,
    /// The tools that clients of this conversation run.
    #[serde(default)]
    pub client_tools: Vec<Definition>,
    /// The tools that the model's provider runs.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub hosted_tools: Vec<HostedTool>,
    /// A tool that a turn's first model call must use (AGN-003 §6.2).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool_choice_name: Option<String>,
    /// The vector collection that is searched; absent: the configured one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub collection: Option<String>,
    /// The provider's id of the model that made its vectors; absent: the configured one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub embedding_model: Option<String>,
    /// How long its vectors are, where the model can choose; absent: the configured model's, or the named one's own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dimensions: Option<u32>,
    /// Who remembers the conversation; absent: the configured one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub chain: Option<ChainPolicy>,
    /// Whether chained requests carry the tools.
    #[serde(default)]
    pub tools_on_continuation: ToolsOnContinuation,
    /// Whether the provider's raw requests and responses are kept (DD-005).
    #[serde(default)]
    pub store_raw_payloads: bool,
    /// How long a turn waits for the client's tool results.
    #[serde(default = "limits::default_tool_deadline_seconds")]
    pub tool_deadline_seconds: u32,
    /// How many days a deleted session is kept; absent: the org's or the deployment's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retention_days: Option<u32>,
    /// How many rounds of server tools a turn may take.
    #[serde(default = "limits::default_max_rounds")]
    pub max_rounds: u32,
    /// How much of each kind of material a request may carry.
    #[serde(default)]
    pub budgets: Budgets,
    /// Whether the model sums up the turns that `Budgets.HistoryTokens` leave out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub history_summary: bool,
    /// What tokens cost; absent: no cost is reported.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub prices: Option<Prices>,
    /// Who is asked, in this order, where a model is overloaded, out, or too small.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub fallbacks: Vec<Fallback>,
}

impl ConversationContext {
    /// How long a deleted session is kept, where it says so.
    #[must_use]
    pub fn retention(&self) -> Option<Duration> {
        self.retention_days.map(|days| Duration::from_secs(u64::from(days) * 24 * 60 * 60))
    }

    /// How the model is asked.
    pub(super) fn settings(&self) -> Settings {
        Settings {
            temperature: self.temperature,
            top_p: self.top_p,
            max_output_tokens: self.max_output_tokens,
            reasoning_effort: self.reasoning_effort,
            verbosity: self.verbosity,
            text_format: self.text_format.clone(),
            service_tier: self.service_tier,
            parallel_tool_calls: self.parallel_tool_calls,
            hosted_tools: self.hosted_tools.clone(),
        }
    }
}

/// Whether chained requests carry the tools (ruling: tools on a chained request).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolsOnContinuation {
    /// They do, since the API carries none over.
    #[default]
    Send,
    /// They do not: AGN-003 §6.1 to the letter.
    Omit,
}

/// How much of each kind of material a request may carry; zero is none of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields, default)]
pub struct Budgets {
    /// Tokens of earlier turns, when the history has to be sent again.
    pub history_tokens: u32,
    /// Tokens of one active file.
    pub file_tokens: u32,
    /// Tokens of all active files together.
    pub total_file_tokens: u32,
    /// Tokens of the `[CONTEXT]` block.
    pub context_tokens: u32,
    /// Chunks in the `[CONTEXT]` block; more than [`MOST_CHUNKS`](crate::retrieval::MOST_CHUNKS) are never told.
    pub context_chunks: u32,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            history_tokens: 32_000,
            file_tokens: 16_000,
            total_file_tokens: 48_000,
            context_tokens: 8_000,
            context_chunks: 12,
        }
    }
}
