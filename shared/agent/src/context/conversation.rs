//! The conversation context: how a session's turns run.

use std::time::Duration;

use contracts::id::ConversationContextId;
use protocol::chain::ConversationStatePolicy;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Fallback, limits};
use crate::{
    connection::TOOL_NAMES,
    members::{Count, Fits, deprecation, line, table, text, words},
    model::{
        hosted_tools::HostedTool,
        model_settings::{
            Effort, Guardrail, ModelSettings, ReasoningSummary, ServiceTier, TextFormat, Verbosity,
        },
        price::Prices,
    },
    tool::Definition,
};

/// The name of a vector collection.
const COLLECTION: Fits = Fits {
    schema: || json!({ "maxLength": limits::MAX_COLLECTION_CHARS }),
    fits: |name| {
        (1..=limits::MAX_COLLECTION_CHARS).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
    },
    fault: || {
        format!("must have 1 to {} characters, only letters, digits, _ - and .", limits::MAX_COLLECTION_CHARS)
    },
};

table! {
    /// The settings of a conversation: model, prompt, limits, prices.
    #[derive(Debug, Clone, PartialEq)]
    pub struct ConversationContext as "ConversationContext" {
        /// The id that requests send as `ConversationContextId`.
        pub id: ConversationContextId,
        /// The name that session lists show.
        pub name: String = line(limits::MAX_NAME_CHARS),
        /// The replacement to use. Set it to deprecate the document.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub deprecated: Option<String> = deprecation(),
        /// A provider of the deployment, by name. Absent: the default one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub provider: Option<String>,
        /// The provider's model id. Absent: the configured one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub model_name: Option<String> = line(limits::MAX_MODEL_NAME_CHARS),
        /// The base system prompt; never blank.
        pub system: String = text(limits::MAX_CONTEXT_BYTES),
        /// Sent when set; some models reject it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub temperature: Option<f64> = limits::TEMPERATURE,
        /// The nucleus sampling mass.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub top_p: Option<f64> = limits::TOP_P,
        /// The maximum number of tokens in one reply.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub max_output_tokens: Option<u32> = limits::MAX_OUTPUT_TOKENS,
        /// The effort of a reasoning model.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub reasoning_effort: Option<Effort>,
        /// The summary of the model's reasoning that streams show. Absent: what the provider shows unasked.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub reasoning_summary: Option<ReasoningSummary>,
        /// The verbosity of the model's answers.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub verbosity: Option<Verbosity>,
        /// The JSON format that answers must have. Absent: text.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub text_format: Option<TextFormat>,
        /// The provider's service tier.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub service_tier: Option<ServiceTier>,
        /// True if one reply may call several tools.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub parallel_tool_calls: Option<bool>,
        /// The mode that sessions start in. Absent: the catalog's default.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub default_mode: Option<String>,
        /// The tools that clients of this conversation run.
        #[serde(default)]
        pub client_tools: Vec<Definition>,
        /// The connections and tools of connections that the service calls for it, such as `tickets.create_ticket`.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        pub tools: Vec<String> = TOOL_NAMES,
        /// The tools that the model's provider runs.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        pub hosted_tools: Vec<HostedTool> = Count(limits::MAX_HOSTED_TOOLS, "tools"),
        /// The guardrail that the provider applies. Absent: none.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub guardrail: Option<Guardrail>,
        /// A tool that a turn's first model call must use.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub tool_choice_name: Option<String>,
        /// The vector collection to search. Absent: the configured one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub collection: Option<String> = COLLECTION,
        /// The provider's id of the model that made its vectors. Absent: the configured one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub embedding_model: Option<String> = line(limits::MAX_MODEL_NAME_CHARS),
        /// The dimensions of its vectors, for a model that can choose. Absent: the configured model's, or the named
        /// model's default.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub dimensions: Option<u32> = limits::DIMENSIONS,
        /// The owner of the conversation state, provider or service. Absent: the configured one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub chain: Option<ConversationStatePolicy>,
        /// The policy for tools on chained requests: send or omit.
        #[serde(default)]
        pub tools_on_continuation: ToolsOnContinuation,
        /// Set if the provider's raw requests and responses are stored.
        #[serde(default)]
        pub store_raw_payloads: bool,
        /// The time in seconds that a turn waits for the client's tool results.
        #[serde(default = "limits::default_tool_deadline_seconds")]
        pub tool_deadline_seconds: u32 = limits::TOOL_DEADLINE_SECONDS,
        /// The number of days that a deleted session is retained. Absent: the org's or the deployment's.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub retention_days: Option<u32> = limits::RETENTION_DAYS,
        /// The maximum number of server tool rounds in a turn.
        #[serde(default = "limits::default_max_rounds")]
        pub max_rounds: u32 = limits::MAX_ROUNDS,
        /// The token and chunk limits of each kind of content in a request. Older documents name them `Budgets`.
        #[serde(default, alias = "Budgets")]
        pub prompt_limits: PromptLimits,
        /// Set if the model summarizes the turns that exceed `PromptLimits.HistoryTokens`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub history_summary: bool,
        /// The token prices. Absent: the list price of the model, if it is well known.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub prices: Option<Prices>,
        /// The models to fall back to, in this order, when one is overloaded, unavailable or too small.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        pub fallbacks: Vec<Fallback> = Count(limits::MAX_FALLBACKS, "fallbacks"),
    }
}

impl ConversationContext {
    /// Returns the retention of a deleted session, if this context sets one.
    #[must_use]
    pub fn retention(&self) -> Option<Duration> {
        self.retention_days.map(|days| Duration::from_secs(u64::from(days) * 24 * 60 * 60))
    }

    /// Returns the settings of the model calls.
    pub(super) fn settings(&self) -> ModelSettings {
        ModelSettings {
            temperature: self.temperature,
            top_p: self.top_p,
            max_output_tokens: self.max_output_tokens,
            reasoning_effort: self.reasoning_effort,
            reasoning_summary: self.reasoning_summary,
            verbosity: self.verbosity,
            text_format: self.text_format.clone(),
            service_tier: self.service_tier,
            parallel_tool_calls: self.parallel_tool_calls,
            hosted_tools: self.hosted_tools.clone(),
            guardrail: self.guardrail.clone(),
            ..ModelSettings::default()
        }
    }
}

words!(ToolsOnContinuation);

/// The policy for tools on chained requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolsOnContinuation {
    /// Send the tools, since the API doesn't carry them over.
    #[default]
    Send,
    /// Omit the tools.
    Omit,
}

table! {
    /// The limits of each kind of content in a request. Zero leaves that kind out.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    #[serde(default)]
    pub struct PromptLimits as "PromptLimits" {
        /// Tokens of earlier turns, when the history is sent again.
        pub history_tokens: u32 = limits::PROMPT_TOKENS,
        /// Tokens of one active file.
        pub file_tokens: u32 = limits::PROMPT_TOKENS,
        /// Tokens of all active files together.
        pub total_file_tokens: u32 = limits::PROMPT_TOKENS,
        /// Tokens of the retrieved chunks.
        pub context_tokens: u32 = limits::PROMPT_TOKENS,
        /// The number of retrieved chunks.
        pub context_chunks: u32 = limits::CONTEXT_CHUNKS,
    }
}

impl Default for PromptLimits {
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
