//! Agents as tools: their definitions, and the arguments of a call.

use contracts::{
    id::{InvalidId, SessionId},
    request::{UserMessage, limits::MAX_INSTRUCTION_CHARS},
};
use serde_json::{Map, Value, json};

use crate::{error::RpcError, message::Request, object::with};

/// An agent that a user may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent<'a> {
    /// The id, which names the tool.
    pub id: &'a str,
    /// The display name.
    pub name: &'a str,
    /// The purpose, if the org has given it one.
    pub description: Option<&'a str>,
}

/// Returns a page of the list of tools.
#[must_use]
pub fn list<'a>(agents: impl IntoIterator<Item = Agent<'a>>, next: Option<&str>) -> Value {
    let tools: Vec<Value> = agents.into_iter().map(|agent| definition(&agent)).collect();
    with(json!({"tools": tools}), "nextCursor", next)
}

fn definition(Agent { id, name, description }: &Agent<'_>) -> Value {
    let purpose = description.map(|purpose| format!("{purpose}\n\n")).unwrap_or_default();
    let description = format!(
        "{purpose}Sends a message to the agent \"{name}\" and returns its answer. The result names the session: pass it as \
         `session` to continue the conversation. Without it, a new one begins."
    );
    json!({
        "name": id,
        "title": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": {
                "message": {
                    "type": "string", "minLength": 1, "maxLength": MAX_INSTRUCTION_CHARS,
                    "description": "The message to the agent.",
                },
                "session": {
                    "type": "string",
                    "description": "The session to continue, from an earlier result. Omit it to begin one.",
                },
            },
            "required": ["message"],
            "additionalProperties": false,
        },
        "outputSchema": {
            "type": "object",
            "properties": {
                "session": {"type": "string", "description": "The session. Pass it to continue the conversation."},
                "turn": {"type": "string", "description": "The turn that answered the message."},
                "answer": {"type": "string", "description": "The answer."},
            },
            "required": ["session", "turn", "answer"],
        },
        "annotations": {"readOnlyHint": false, "openWorldHint": true},
    })
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call<'a> {
    /// The tool.
    pub tool: &'a str,
    /// The arguments.
    arguments: Option<&'a Map<String, Value>>,
}

/// The arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arguments {
    /// The message.
    pub message: UserMessage,
    /// The session to continue.
    pub session: Option<SessionId>,
}

/// The reason why arguments are invalid. The model that calls the tool can correct them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidArguments {
    /// There is no message.
    #[error("message must be a string with text.")]
    Message,
    /// The message is too long.
    #[error("message must have at most {MAX_INSTRUCTION_CHARS} characters.")]
    Length,
    /// The session isn't a string.
    #[error("session must be a string: the session of an earlier result. Omit it to begin one.")]
    SessionType,
    /// The session isn't an id.
    #[error("session {0}. Pass the session of an earlier result, or omit it to begin one.")]
    Session(InvalidId),
    /// There is another argument.
    #[error("Unknown argument {0:?}. An agent takes message and session.")]
    Unknown(String),
}

impl<'a> Call<'a> {
    /// Reads the parameters of a call.
    ///
    /// # Errors
    /// If there is no name, or the arguments are no object.
    pub fn read(request: &'a Request) -> Result<Self, RpcError> {
        let tool = request.text("name")?;
        let arguments = match request.params.get("arguments") {
            None | Some(Value::Null) => None,
            Some(Value::Object(arguments)) => Some(arguments),
            Some(_) => return Err(RpcError::invalid_params("params.arguments must be an object.")),
        };
        Ok(Self { tool, arguments })
    }

    /// Returns the error of a tool that the caller doesn't have.
    #[must_use]
    pub fn unknown_tool(&self) -> RpcError {
        RpcError::invalid_params(format!("Unknown tool: {}", self.tool))
    }

    /// Reads the arguments.
    ///
    /// # Errors
    /// If they don't have the schema of the tool.
    pub fn arguments(&self) -> Result<Arguments, InvalidArguments> {
        let (mut message, mut session) = (None, None);
        for (name, value) in self.arguments.into_iter().flatten() {
            match (name.as_str(), value) {
                ("message", value) => message = value.as_str().filter(|text| !text.trim().is_empty()),
                ("session", Value::Null) => {}
                ("session", value) => {
                    let text = value.as_str().ok_or(InvalidArguments::SessionType)?;
                    session = Some(SessionId::new(text).map_err(InvalidArguments::Session)?);
                }
                _ => return Err(InvalidArguments::Unknown(name.clone())),
            }
        }
        let text = message.ok_or(InvalidArguments::Message)?;
        if text.chars().count() > MAX_INSTRUCTION_CHARS {
            return Err(InvalidArguments::Length);
        }
        let message = UserMessage { text: text.to_owned(), ..UserMessage::default() };
        Ok(Arguments { message, session })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_checked_by_name() {
        let read = |arguments: Value| {
            Call { tool: "default", arguments: arguments.as_object() }
                .arguments()
                .map_err(|error| error.to_string())
        };
        let arguments = read(json!({"message": "Hi", "session": "s1"})).unwrap();
        assert_eq!((arguments.message.text.as_str(), arguments.session.unwrap().as_str()), ("Hi", "s1"));
        assert_eq!(read(json!({"message": "Hi", "session": null})).unwrap().session, None);
        for (arguments, error) in [
            (json!({}), "message must be"),
            (json!({"message": " "}), "message must be"),
            (json!({"message": ["Hi"]}), "message must be"),
            (json!({"message": "Hi", "session": 7}), "session must be a string"),
            (json!({"message": "Hi", "session": "a/b"}), "session may hold only"),
            (json!({"message": "Hi", "files": []}), "Unknown argument \"files\""),
        ] {
            let found = read(arguments).unwrap_err();
            assert!(found.starts_with(error), "{found}");
        }
    }
}
