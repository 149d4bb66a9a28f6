//! Settings of a single turn that another API of the service accepts.
//!
//! The Aptix API has no such member: its clients name contexts. The options are stored with the request of their turn,
//! so a rerun and a takeover use them too.

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use super::{chat_message::take_text, json::Json};
use crate::error::{Error, ErrorCode};

/// The member of a stored request that holds the options, as a JSON text.
const MEMBER: &str = "Options";

/// Settings of one turn. Each replaces the setting of the turn's contexts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields, default)]
pub struct TurnOptions {
    /// The model, one of those that the contexts name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The tools that the caller runs, besides those of the contexts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<FunctionTool>,
    /// The caller's own web search tool, as the provider's API has it. The provider runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web_search: Option<Value>,
    /// The tool that the first model call must call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<String>,
    /// True if the first model call must call a tool, whichever.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub requires_tool: bool,
    /// The most calls of the provider's own tools in one reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u32>,
    /// True if one reply may call several tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// The texts before which a reply ends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// The sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Number>,
    /// The nucleus sampling mass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<Number>,
    /// The maximum number of tokens in one reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// The effort of a reasoning model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
    /// The summary of the model's reasoning to stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_summary: Option<String>,
    /// The verbosity of the model's answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<String>,
    /// The JSON format that the answer must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_format: Option<JsonFormat>,
    /// True if the answer must be a JSON object of any form.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub json_object: bool,
    /// True if the turn's content is removed once the turn is final.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unstored: bool,
    /// The provider's service tier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<String>,
    /// Members of the original request that its responses repeat. The turn doesn't depend on them.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub repeated: Value,
}

/// A tool that the caller runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct FunctionTool {
    /// The name.
    pub name: String,
    /// A description for the model.
    pub description: String,
    /// The JSON schema of its arguments.
    pub parameters: Value,
    /// True if the provider must hold the model to the schema.
    pub strict: bool,
    /// The format of its input, for a freeform tool: its one argument is a text that the model writes without JSON.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub format: Option<Value>,
}

/// The JSON that an answer must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct JsonFormat {
    /// The name for the model.
    pub name: String,
    /// A description for the model.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub description: Option<String>,
    /// The JSON schema.
    pub schema: Value,
    /// True if the provider must enforce the schema.
    pub strict: bool,
}

impl TurnOptions {
    /// Writes the options as the text of their member.
    pub(super) fn to_text(&self) -> String {
        // The type holds only strings, numbers, lists and JSON values, so it always serializes.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Takes the options out of a stored request.
    pub(super) fn take(json: &mut Json<'_>) -> Result<Option<Box<Self>>, Vec<Error>> {
        let Some(text) = take_text(json, MEMBER)? else { return Ok(None) };
        let invalid = || vec![Error::from(ErrorCode::MemberInvalid).with_details(MEMBER)];
        serde_json::from_str(&text).map(Some).map_err(|_| invalid())
    }
}
