//! The items of a response's output.

use agent::model::{MessagePhase, freeform};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::tool_calls::ReceivedCall;

/// The item types of hosted tools.
const HOSTED: [&str; 5] =
    ["web_search_call", "file_search_call", "code_interpreter_call", "mcp_list_tools", "mcp_call"];

/// An item of the output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Item {
    /// A message.
    Message(Message),
    /// A function call.
    FunctionCall(ReceivedCall),
    /// Reasoning that can be replayed.
    Reasoning(Reasoning),
    /// A call of a hosted tool, unchanged.
    Hosted(Value),
    /// Any other type, including future ones.
    #[default]
    Other,
}

/// A message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// The id.
    pub id: Option<String>,
    /// Its texts and refusals, in order.
    pub texts: Vec<String>,
    /// Their annotations.
    pub annotations: Vec<Value>,
    /// The phase, if the model labels its messages.
    pub phase: Option<MessagePhase>,
}

/// Reasoning, encrypted by its provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reasoning {
    /// The id.
    pub id: String,
    /// The summary.
    pub summary: Vec<Value>,
    /// The encrypted content.
    pub encrypted: String,
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Value::deserialize(deserializer)? {
            Value::Object(members) => Self::from_members(&members),
            _ => Self::Other,
        })
    }
}

impl Item {
    /// Returns the item's id, if it has one.
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Message(message) => message.id.as_deref(),
            Self::FunctionCall(call) => call.id.as_deref(),
            Self::Reasoning(reasoning) => Some(&reasoning.id),
            Self::Hosted(item) => item.get("id")?.as_str(),
            Self::Other => None,
        }
    }

    fn from_members(members: &Map<String, Value>) -> Self {
        match members.get("type").and_then(Value::as_str) {
            Some("message") => {
                let (texts, annotations) = match members.get("content") {
                    Some(Value::String(text)) => (vec![text.clone()], Vec::new()),
                    Some(Value::Array(parts)) => {
                        let annotations = parts.iter().filter_map(|part| part.get("annotations")?.as_array());
                        let texts = parts.iter().filter_map(part_text).map(str::to_owned).collect();
                        (texts, annotations.flatten().cloned().collect())
                    }
                    _ => Default::default(),
                };
                let phase = members.get("phase").and_then(Value::as_str).and_then(MessagePhase::from_name);
                Self::Message(Message { id: text(members, "id"), texts, annotations, phase })
            }
            Some(kind) if HOSTED.contains(&kind) && text(members, "id").is_some() => {
                Self::Hosted(Value::Object(members.clone()))
            }
            Some("function_call") => Self::FunctionCall(ReceivedCall {
                call_id: text(members, "call_id"),
                id: text(members, "id"),
                name: text(members, "name").unwrap_or_default(),
                arguments: match members.get("arguments") {
                    Some(Value::String(text)) => text.clone(),
                    Some(Value::Null) | None => "{}".to_owned(),
                    Some(arguments) => arguments.to_string(),
                },
            }),
            // Its arguments are those of a function with the same input.
            Some("custom_tool_call") => Self::FunctionCall(ReceivedCall {
                call_id: text(members, "call_id"),
                id: text(members, "id"),
                name: text(members, "name").unwrap_or_default(),
                arguments: freeform::arguments(
                    members.get("input").and_then(Value::as_str).unwrap_or_default(),
                ),
            }),
            Some("reasoning") => match (text(members, "id"), text(members, "encrypted_content")) {
                (Some(id), Some(encrypted)) => {
                    let summary = members.get("summary").and_then(Value::as_array).cloned();
                    Self::Reasoning(Reasoning { id, summary: summary.unwrap_or_default(), encrypted })
                }
                _ => Self::Other,
            },
            _ => Self::Other,
        }
    }
}

/// Returns the text of a part, or the refusal.
fn part_text(part: &Value) -> Option<&str> {
    let name = match part.get("type")?.as_str()? {
        "output_text" | "text" => "text",
        "refusal" => "refusal",
        _ => return None,
    };
    part.get(name)?.as_str()
}

/// Returns a member that is a non-empty string.
fn text(members: &Map<String, Value>, name: &str) -> Option<String> {
    members.get(name)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}
