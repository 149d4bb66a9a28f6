//! The items of a response's output.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// What the provider's own tools are told as.
const HOSTED: [&str; 5] =
    ["web_search_call", "file_search_call", "code_interpreter_call", "mcp_list_tools", "mcp_call"];

/// One item of the output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Item {
    /// Something said: its texts and refusals, in order, and the annotations beside them.
    Message(Vec<String>, Vec<Value>),
    /// A function to call.
    FunctionCall(Call),
    /// How the model came to what follows, where it can be told again.
    Reasoning(Reasoning),
    /// What a tool of the provider's did, as it came.
    Hosted(Value),
    /// What does not exist yet.
    #[default]
    Other,
}

/// A function to call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The id to answer with, where there is one.
    pub call_id: Option<String>,
    /// The item's own id.
    pub id: Option<String>,
    /// The function; empty where it is not named.
    pub name: String,
    /// A JSON text, as the model wrote it.
    pub arguments: String,
}

/// Reasoning that its provider alone can read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reasoning {
    /// Its id.
    pub id: String,
    /// What is told of it in words.
    pub summary: Vec<Value>,
    /// All of it.
    pub encrypted: String,
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Value::deserialize(deserializer)? {
            Value::Object(members) => Self::of(&members),
            _ => Self::Other,
        })
    }
}

impl Item {
    fn of(members: &Map<String, Value>) -> Self {
        match members.get("type").and_then(Value::as_str) {
            Some("message") => match members.get("content") {
                Some(Value::String(text)) => Self::Message(vec![text.clone()], Vec::new()),
                Some(Value::Array(parts)) => {
                    let annotations = parts.iter().filter_map(|part| part.get("annotations")?.as_array());
                    Self::Message(
                        parts.iter().filter_map(said).map(str::to_owned).collect(),
                        annotations.flatten().cloned().collect(),
                    )
                }
                _ => Self::Message(Vec::new(), Vec::new()),
            },
            Some(kind) if HOSTED.contains(&kind) && text(members, "id").is_some() => {
                Self::Hosted(Value::Object(members.clone()))
            }
            Some("function_call") => Self::FunctionCall(Call {
                call_id: text(members, "call_id"),
                id: text(members, "id"),
                name: text(members, "name").unwrap_or_default(),
                arguments: match members.get("arguments") {
                    Some(Value::String(text)) => text.clone(),
                    Some(Value::Null) | None => "{}".to_owned(),
                    Some(arguments) => arguments.to_string(),
                },
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

/// What a part says; the model may decline, and says so.
fn said(part: &Value) -> Option<&str> {
    let name = match part.get("type")?.as_str()? {
        "output_text" | "text" => "text",
        "refusal" => "refusal",
        _ => return None,
    };
    part.get(name)?.as_str()
}

/// A member that says something.
fn text(members: &Map<String, Value>, name: &str) -> Option<String> {
    members.get(name)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}
