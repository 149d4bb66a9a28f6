//! Reads `messages` as a history, role by role.

use histories::{ChatCall, ChatMessage, ChatResult, UserMessage};

use super::{MAX_ID_CHARS, Members, content};
use crate::error::ApiError;

/// The most messages of a request.
const MAX_MESSAGES: usize = 10_000;

/// A message, or one part of a message of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct InputMessage {
    /// The client's id, or the id that a stream gave it.
    pub id: String,
    /// The content.
    pub message: ChatMessage,
}

/// The texts and messages of a request.
#[derive(Debug)]
pub(super) struct Messages {
    /// The system texts before the first other message.
    pub(super) instructions: Vec<String>,
    /// The messages after them.
    pub(super) messages: Vec<InputMessage>,
}

/// Reads the messages.
pub(super) fn read(members: &Members<'_>) -> Result<Messages, ApiError> {
    let list = members.required("messages").and_then(|_| members.list("messages"))?;
    if list.len() > MAX_MESSAGES {
        return Err(members.rule("messages", "List should have at most 10000 items"));
    }
    let mut read = Messages { instructions: Vec::new(), messages: Vec::new() };
    for (n, message) in list.iter().enumerate() {
        read.message(&Members::read(message, &format!("messages.{n}"))?)?;
    }
    Ok(read)
}

impl Messages {
    fn message(&mut self, message: &Members<'_>) -> Result<(), ApiError> {
        let id = message.required_text("id")?;
        if id.chars().nth(MAX_ID_CHARS).is_some() {
            return Err(message.rule("id", "must have at most 256 characters"));
        }
        let is_first = self.messages.is_empty();
        let mut push =
            |content: ChatMessage| self.messages.push(InputMessage { id: id.to_owned(), message: content });
        match message.required_text("role")? {
            "user" => push(ChatMessage::User(content::read(message)?)),
            "assistant" => assistant(message, push)?,
            "tool" => tool(message, push)?,
            "system" | "developer" => {
                let text = message.required_text("content")?.to_owned();
                if is_first {
                    self.instructions.push(text);
                } else if !text.trim().is_empty() {
                    push(ChatMessage::System(text));
                }
            }
            // Shown to the user alone.
            "reasoning" | "activity" => {}
            _ => {
                let rule = "Input should be 'user', 'assistant', 'tool', 'system', 'developer', 'reasoning' or 'activity'";
                return Err(message.rule("role", rule));
            }
        }
        self.instructions.retain(|text| !text.trim().is_empty());
        Ok(())
    }
}

fn assistant(message: &Members<'_>, mut push: impl FnMut(ChatMessage)) -> Result<(), ApiError> {
    if let Some(text) = message.text("content")?.filter(|text| !text.is_empty()) {
        push(ChatMessage::Assistant(text.to_owned()));
    }
    for (n, call) in message.list("toolCalls")?.iter().enumerate() {
        let call = Members::read(call, &format!("{}.{n}", message.path("toolCalls")))?;
        let function = call.object("function")?.ok_or_else(|| call.rule("function", "Field required"))?;
        push(ChatMessage::Call(ChatCall {
            id: call.required_text("id")?.to_owned(),
            name: function.required_text("name")?.to_owned(),
            arguments: function.required_text("arguments")?.to_owned(),
        }));
    }
    Ok(())
}

/// Reads the result of a call, which is a text.
fn tool(message: &Members<'_>, mut push: impl FnMut(ChatMessage)) -> Result<(), ApiError> {
    let call_id = message.required_text("toolCallId")?.to_owned();
    let UserMessage { text, images, files } = content::read(message)?;
    if !images.is_empty() || !files.is_empty() {
        return Err(
            message.rule("content", "results can hold text parts alone. Send files as a message of the user")
        );
    }
    let error = message.text("error")?.filter(|error| !error.is_empty());
    let output = error.map_or(text, str::to_owned);
    push(ChatMessage::Result(ChatResult { call_id, output, is_error: error.is_some() }));
    Ok(())
}
