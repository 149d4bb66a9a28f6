//! Settings of a model call, apart from its input.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    members::{Fits, MAX_TOOL_DESCRIPTION_CHARS, PROVIDER_NAME, table, text, words},
    model::{freeform::FreeformTools, hosted_tools::HostedTool},
    output_filter::AnswerFormat,
};

/// Sampling and output settings. Only those that are set are sent, because some models reject them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ModelSettings {
    /// Randomness of the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Probability mass of the tokens to sample from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Maximum number of tokens in a reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// Effort of a reasoning model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<Effort>,
    /// Summary of the reasoning to stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_summary: Option<ReasoningSummary>,
    /// Length of the model's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<Verbosity>,
    /// JSON format that the answer must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_format: Option<TextFormat>,
    /// The provider's service tier, which determines priority and price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<ServiceTier>,
    /// Set if one reply may call several tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// The tools that the provider runs itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosted_tools: Vec<HostedTool>,
    /// The caller's web search tool, for providers that run it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web_search: Option<Value>,
    /// The tools whose input is a text, for providers that have such tools.
    #[serde(skip_serializing_if = "FreeformTools::is_empty")]
    pub freeform_tools: FreeformTools,
    /// The provider's guardrail that checks input and output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guardrail: Option<Guardrail>,
    /// Set if the model must call a tool, whichever. Holds for the first call of a turn.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub requires_tool: bool,
    /// Most calls of the provider's own tools in one reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u32>,
    /// Texts before which a reply ends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// Set if the answer must be a JSON object of any form.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub json_object: bool,
    /// Set if an answer in JSON isn't put into a fence.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unfenced_json: bool,
}

impl ModelSettings {
    /// Returns the format of the answer.
    #[must_use]
    pub fn answer_format(&self) -> AnswerFormat {
        let is_fenced = (self.text_format.is_some() || self.json_object) && !self.unfenced_json;
        if is_fenced { AnswerFormat::Json } else { AnswerFormat::Markdown }
    }
}

/// Effort of a reasoning model, as the provider names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// No reasoning.
    None,
    /// As little as possible.
    Minimal,
    /// Little.
    Low,
    /// The usual amount.
    Medium,
    /// Much.
    High,
    /// More than `High`.
    Xhigh,
    /// As much as the model can.
    Max,
}

/// Summary of a model's reasoning, as OpenAI names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReasoningSummary {
    /// The most detailed one that the model has.
    Auto,
    /// Short.
    Concise,
    /// Long.
    Detailed,
}

/// Length of the model's text, as the provider names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verbosity {
    /// Short.
    Low,
    /// The usual length.
    Medium,
    /// Long.
    High,
}

/// A provider's service tier, as the provider names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServiceTier {
    /// As configured for the account.
    Auto,
    /// The standard tier.
    Default,
    /// Slower and cheaper.
    Flex,
    /// On prepaid capacity.
    Scale,
    /// Faster and more expensive.
    Priority,
}

words!(Effort, ReasoningSummary, Verbosity, ServiceTier);

table! {
    /// The JSON format that answers must have.
    #[derive(Debug, Clone, PartialEq)]
    pub struct TextFormat as "TextFormat" {
        /// Its name.
        pub name: String = PROVIDER_NAME,
        /// Its purpose, for the model.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub description: Option<String> = text(MAX_TOOL_DESCRIPTION_CHARS),
        /// The JSON Schema: an object.
        pub schema: Value,
        /// Set if the provider must hold the model to the schema.
        #[serde(default)]
        pub strict: bool,
    }
}

/// The maximum number of characters of a guardrail's id or ARN.
const MAX_GUARDRAIL_CHARS: usize = 2_048;
/// The maximum number of digits of a guardrail's version.
const MAX_VERSION_DIGITS: usize = 8;

table! {
    /// The guardrail that the provider applies to input and output.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Guardrail as "Guardrail" {
        /// The guardrail's id, or its ARN.
        pub id: String = GUARDRAIL_ID,
        /// Its version.
        pub version: String = GUARDRAIL_VERSION,
    }
}

const GUARDRAIL_ID: Fits = Fits {
    schema: || json!({ "maxLength": MAX_GUARDRAIL_CHARS }),
    fits: |id| {
        let is_plain =
            !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        let is_arn = id.starts_with("arn:aws")
            && id.contains(":guardrail/")
            && id.bytes().all(|b| b.is_ascii_graphic());
        id.len() <= MAX_GUARDRAIL_CHARS && (is_plain || is_arn)
    },
    fault: || "must be the id of a guardrail, of lower-case letters and digits, or its ARN".to_owned(),
};

const GUARDRAIL_VERSION: Fits = Fits {
    schema: || json!({ "pattern": "^([1-9][0-9]{0,7}|DRAFT)$" }),
    fits: |version| {
        let is_number = (1..=MAX_VERSION_DIGITS).contains(&version.len())
            && !version.starts_with('0')
            && version.bytes().all(|byte| byte.is_ascii_digit());
        is_number || version == "DRAFT"
    },
    fault: || "must be a version number or DRAFT".to_owned(),
};
