//! A request to `POST {base}/responses`.

use serde::Serialize;
use serde_json::Value;

/// The whole body (AGN-003 §3).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Request<'a> {
    /// The provider's model id.
    pub model: &'a str,
    /// Absent when the context sets none, since some models refuse it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The most tokens the reply may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// Always true: only a stream can be watched, forwarded and ended early.
    pub stream: bool,
    /// The response that this request continues from (AGN-003 §4.4).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_response_id: Option<&'a str>,
    /// Answers to calls, then messages.
    pub input: Vec<Item<'a>>,
    /// The tools that the model may call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool<'a>>,
    /// The tool that the model must call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice<'a>>,
}

/// One item of the input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Item<'a> {
    /// The answer to a function call of the previous response.
    CallOutput(CallOutput<'a>),
    /// A message.
    Message(Message<'a>),
}

/// `{"type": "function_call_output", …}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "function_call_output")]
pub struct CallOutput<'a> {
    /// The call that is answered.
    pub call_id: &'a str,
    /// JSON as text.
    pub output: std::borrow::Cow<'a, str>,
}

/// `{"role": …, "content": […]}`, as AGN-003 prints it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message<'a> {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub content: Vec<Part<'a>>,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The orchestrator.
    System,
    /// The user's side.
    User,
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part<'a> {
    /// Text; the API refuses the type `text` of older documents.
    InputText {
        /// The text.
        text: std::borrow::Cow<'a, str>,
    },
}

/// A function tool, in the API's flat shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename = "function")]
pub struct Tool<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it does.
    pub description: &'a str,
    /// JSON schema of its arguments.
    pub parameters: &'a Value,
    /// Whether the provider holds the model to the schema.
    pub strict: bool,
}

/// `{"type": "function", "name": …}` (AGN-003 §6.2 on the API's wire).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "function")]
pub struct ToolChoice<'a> {
    /// The tool that must be called.
    pub name: &'a str,
}
