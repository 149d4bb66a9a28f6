//! Reads `system` and `messages` as a history, role by role.

use histories::{ChatCall, ChatMessage, ChatResult, UserMessage};

use super::{
    Members,
    blocks::{self, Block},
};
use crate::error::ApiError;

/// The most messages of a request, as Anthropic's API limits them.
const MAX_MESSAGES: usize = 100_000;

/// The texts and messages of a request.
#[derive(Debug)]
pub(super) struct Messages {
    /// The system texts before the first other message.
    pub(super) instructions: String,
    /// The messages after them.
    pub(super) messages: Vec<ChatMessage>,
}

/// Reads the system prompt and the messages.
pub(super) fn read(members: &Members<'_>) -> Result<Messages, ApiError> {
    let list = members.required("messages").and_then(|_| members.list("messages"))?;
    if list.len() > MAX_MESSAGES {
        return Err(members.rule("messages", "List should have at most 100000 items"));
    }
    let last_user = list.iter().rposition(|message| message.get("role").is_some_and(|role| role == "user"));
    let mut reader = Reader::default();
    if members.get("system").is_some() {
        reader.instructions.push(blocks::text(members, "system")?);
    }
    for (n, message) in list.iter().enumerate() {
        let message = Members::read(message, &format!("messages.{n}"))?;
        let is_cleared = message.text("clear_at")? == Some("next_user_message") && last_user > Some(n);
        if !is_cleared {
            reader.message(&message)?;
        }
    }
    reader.instructions.retain(|text| !text.trim().is_empty());
    Ok(Messages { instructions: reader.instructions.join("\n\n"), messages: reader.messages })
}

#[derive(Default)]
struct Reader {
    instructions: Vec<String>,
    messages: Vec<ChatMessage>,
}

impl Reader {
    fn message(&mut self, message: &Members<'_>) -> Result<(), ApiError> {
        match message.required_text("role")? {
            "system" => self.system(message),
            "user" => self.user(message),
            "assistant" => self.assistant(message),
            _ => Err(message.rule("role", "Input should be 'user', 'assistant' or 'system'")),
        }
    }

    fn system(&mut self, message: &Members<'_>) -> Result<(), ApiError> {
        // A message may hold settings alone, which are hints.
        let Some(_) = message.get("content") else { return Ok(()) };
        let text = blocks::text(message, "content")?;
        if self.messages.is_empty() {
            self.instructions.push(text);
        } else if !text.trim().is_empty() {
            self.messages.push(ChatMessage::System(text));
        }
        Ok(())
    }

    /// Reads a message of the user: results of tools, and the rest of it as one message after them.
    fn user(&mut self, message: &Members<'_>) -> Result<(), ApiError> {
        let (mut texts, mut user) = (Vec::new(), UserMessage::default());
        for block in blocks::read(message, "content")? {
            match block {
                Block::Text(text) => texts.push(text),
                Block::Image(image) => user.images.push(image),
                Block::File(file) => user.files.push(file),
                Block::Result { call_id, output, is_error, images } => {
                    self.messages.push(ChatMessage::Result(ChatResult { call_id, output, is_error }));
                    user.images.extend(images);
                }
                Block::Call { .. } => {
                    let rule = "`tool_use` blocks can only be in `assistant` messages";
                    return Err(message.rule("content", rule));
                }
                Block::Omitted => {}
            }
        }
        user.text = texts.join("\n\n");
        if user != UserMessage::default() {
            self.messages.push(ChatMessage::User(user));
        }
        Ok(())
    }

    fn assistant(&mut self, message: &Members<'_>) -> Result<(), ApiError> {
        for block in blocks::read(message, "content")? {
            match block {
                Block::Text(text) => self.messages.push(ChatMessage::Assistant(text)),
                Block::Call { id, name, input } => {
                    self.messages.push(ChatMessage::Call(ChatCall {
                        id,
                        name,
                        arguments: input.to_string(),
                    }));
                }
                // The result of a tool that the server ran.
                Block::Result { call_id, output, is_error, .. } => {
                    self.messages.push(ChatMessage::Result(ChatResult { call_id, output, is_error }));
                }
                Block::Omitted => {}
                Block::Image(_) | Block::File(_) => {
                    let rule = "images and documents can only be in `user` messages";
                    return Err(message.rule("content", rule));
                }
            }
        }
        Ok(())
    }
}
