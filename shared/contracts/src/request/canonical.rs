//! The canonical form of a request (RFC 8785), its fingerprint, and what is stored of it.
//!
//! The form is written from the checked value, so what can't matter can't show: the order and
//! spelling of members, null and absent, the encoding of an artifact, the slashes of a path. `Streaming`
//! is left out, since it is delivery and not meaning (AGN-034 §4.7).

use std::{borrow::Cow, collections::BTreeMap, fmt::Write as _};

use serde::{Serialize, Serializer};

use super::{
    AgentExecuteRequest, Artifact, ClipboardImage, Contents, RagCondition, RagValue, ToolContinuation,
    UserTurn, base64,
};
use crate::{
    hash::Fingerprint,
    response::{ToolOutcome, ToolResult},
};

/// A value of the canonical form. RFC 8785 orders members by UTF-16 code units; names of the contract
/// are ASCII, for which that is the order of the map. No member holds a fraction.
#[derive(Serialize)]
#[serde(untagged)]
enum Value<'a> {
    Flag(bool),
    Integer(i128),
    Text(Cow<'a, str>),
    List(Vec<Value<'a>>),
    Object(Object<'a>),
}

type Object<'a> = BTreeMap<&'static str, Value<'a>>;

impl Value<'_> {
    fn write(&self, out: &mut String) {
        match self {
            Self::Flag(flag) => out.push_str(if *flag { "true" } else { "false" }),
            Self::Integer(integer) => out.push_str(&integer.to_string()),
            Self::Text(text) => write_text(text, out),
            Self::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => write_object(members, out),
        }
    }
}

fn write_object(members: &Object<'_>, out: &mut String) {
    out.push('{');
    for (index, (name, value)) in members.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_text(name, out);
        out.push(':');
        value.write(out);
    }
    out.push('}');
}

/// Writes a string as ECMAScript does (RFC 8785 §3.2.2.2).
fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{C}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            // Writing to a string can't fail.
            '\0'..='\u{1F}' => _ = write!(out, "\\u{:04x}", u32::from(char)),
            _ => out.push(char),
        }
    }
    out.push('"');
}

fn text<'a>(text: impl Into<Cow<'a, str>>) -> Value<'a> {
    Value::Text(text.into())
}

fn optional<'a>(object: &mut Object<'a>, name: &'static str, value: Option<&'a str>) {
    if let Some(value) = value {
        object.insert(name, text(value));
    }
}

fn list<'a, T>(object: &mut Object<'a>, name: &'static str, items: &'a [T], item: fn(&'a T) -> Value<'a>) {
    if !items.is_empty() {
        object.insert(name, Value::List(items.iter().map(item).collect()));
    }
}

fn user_turn(turn: &UserTurn) -> Object<'_> {
    let mut object = Object::new();
    object.insert("SessionId", text(turn.session_id.as_str()));
    object.insert("TurnId", text(turn.turn_id.as_str()));
    optional(&mut object, "Instruction", turn.instruction.as_deref());
    list(&mut object, "InputArtifacts", &turn.input_artifacts, artifact);
    list(&mut object, "ClipboardImages", &turn.clipboard_images, image);
    if !turn.rag_scope.is_empty() {
        let mut scope = Object::new();
        list(&mut scope, "Conditions", &turn.rag_scope, condition);
        object.insert("RagScope", Value::Object(scope));
    }
    optional(&mut object, "SolutionContextText", turn.solution_context_text.as_deref());
    optional(&mut object, "WorkspaceId", turn.workspace_id.as_deref());
    optional(&mut object, "Repo", turn.repo.as_deref());
    optional(&mut object, "Language", turn.language.as_deref());
    let agent = turn.agent_context_id.as_ref();
    optional(&mut object, "AgentContextId", agent.map(|id| id.as_str()));
    let conversation = turn.conversation_context_id.as_ref();
    optional(&mut object, "ConversationContextId", conversation.map(|id| id.as_str()));
    object
}

fn artifact(artifact: &Artifact) -> Value<'_> {
    let mut object = Object::new();
    object.insert("RelativePath", text(artifact.relative_path.as_str()));
    object.insert("FileName", text(artifact.file_name.as_str()));
    object.insert("Origin", text(artifact.origin.as_str()));
    match &artifact.contents {
        Contents::Text(contents) => {
            object.insert("Contents", text(contents));
        }
        Contents::Binary(bytes) => {
            object.insert("Contents", text(base64::encode(bytes)));
            object.insert("Encoding", text("base64"));
        }
    }
    optional(&mut object, "MimeType", artifact.mime_type.as_deref());
    optional(&mut object, "Language", artifact.language.as_deref());
    Value::Object(object)
}

fn image(image: &ClipboardImage) -> Value<'_> {
    Value::Object(Object::from([
        ("Id", text(&image.id)),
        ("MimeType", text(image.image_type.mime_type())),
        ("DataBase64", text(base64::encode(&image.bytes))),
    ]))
}

fn condition(condition: &RagCondition) -> Value<'_> {
    let value = |value| match value {
        &RagValue::Integer(integer) => Value::Integer(integer.into()),
        &RagValue::Flag(flag) => Value::Flag(flag),
        RagValue::Text(value) => text(value),
    };
    Value::Object(Object::from([
        ("Key", text(&condition.key)),
        ("Operator", text(condition.operator.as_str())),
        ("Values", Value::List(condition.values.iter().map(value).collect())),
    ]))
}

fn tool_continuation(continuation: &ToolContinuation) -> Object<'_> {
    let mut object = Object::new();
    object.insert("SessionId", text(continuation.session_id.as_str()));
    object.insert("TurnId", text(continuation.turn_id.as_str()));
    list(&mut object, "ToolResults", &continuation.tool_results, tool_result);
    object
}

fn tool_result(result: &ToolResult) -> Value<'_> {
    let outcome = match &result.outcome {
        ToolOutcome::ResultJson(json) => ("ResultJson", text(json)),
        ToolOutcome::ErrorMessage(message) => ("ErrorMessage", text(message)),
    };
    Value::Object(Object::from([
        ("ToolCallId", text(&result.tool_call_id)),
        ("ExecutionMs", Value::Integer(result.execution_ms.into())),
        outcome,
    ]))
}

fn canonical(object: &Object<'_>) -> Vec<u8> {
    let mut out = String::new();
    write_object(object, &mut out);
    out.into_bytes()
}

impl UserTurn {
    /// The canonical form: what is fingerprinted, and what is stored as `instruction.json`.
    #[must_use]
    pub fn canonical_json(&self) -> Vec<u8> {
        canonical(&user_turn(self))
    }

    /// What tells a retry from a conflict (I9).
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_bytes(&self.canonical_json())
    }
}

impl ToolContinuation {
    /// The canonical form: what is fingerprinted and stored.
    #[must_use]
    pub fn canonical_json(&self) -> Vec<u8> {
        canonical(&tool_continuation(self))
    }

    /// What tells a resubmission from other results.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_bytes(&self.canonical_json())
    }
}

impl AgentExecuteRequest {
    /// What tells a retry from a conflict (I9).
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        match self {
            Self::UserTurn(turn) => turn.fingerprint(),
            Self::ToolContinuation(continuation) => continuation.fingerprint(),
        }
    }
}

/// For clients: the canonical form and, where it is asked for, `Streaming`.
impl Serialize for UserTurn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = user_turn(self);
        if self.streaming {
            object.insert("Streaming", Value::Flag(true));
        }
        object.serialize(serializer)
    }
}

/// For clients: the canonical form.
impl Serialize for ToolContinuation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        tool_continuation(self).serialize(serializer)
    }
}
