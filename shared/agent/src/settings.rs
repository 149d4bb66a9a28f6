//! Settings: how a model is asked, besides what it is asked.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::hosted::HostedTool;

/// Each is sent when it is set, since some models refuse it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Settings {
    /// How much chance there is in the choice of words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// From which share of the likeliest words the model chooses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// The most tokens that one reply may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// How much a reasoning model may think.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<Effort>,
    /// How many words the model makes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<Verbosity>,
    /// The shape that the answer has to have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_format: Option<TextFormat>,
    /// How urgent the provider takes the request to be, and what it charges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<ServiceTier>,
    /// Whether one reply may call several tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// The tools that the provider runs itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosted_tools: Vec<HostedTool>,
}

/// How much a reasoning model may think, in the provider's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Not at all.
    None,
    /// As little as possible.
    Minimal,
    /// Little.
    Low,
    /// The usual amount.
    Medium,
    /// Much.
    High,
    /// More than that.
    Xhigh,
    /// As much as the model can.
    Max,
}

/// How many words a model makes, in the provider's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verbosity {
    /// Few.
    Low,
    /// The usual number.
    Medium,
    /// Many.
    High,
}

/// A provider's tier of service, in its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServiceTier {
    /// As the account is set up.
    Auto,
    /// The usual one.
    Default,
    /// Slower and cheaper.
    Flex,
    /// On capacity that was bought ahead.
    Scale,
    /// Faster and dearer.
    Priority,
}

/// The JSON that an answer has to be (`text.format`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct TextFormat {
    /// Its name, for the model: letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// What it is for, for the model.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub description: Option<String>,
    /// The JSON schema: an object.
    pub schema: Value,
    /// Whether the provider must hold the model to the schema.
    #[serde(default)]
    pub strict: bool,
}
