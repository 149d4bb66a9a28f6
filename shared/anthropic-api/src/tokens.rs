//! Counts the tokens of a request. The service has no tokenizer of the providers' models, so the count is an estimate.

use histories::{Chat, ChatMessage};
use serde_json::{Value, json};

/// The bytes of a token, on average. Providers count fewer tokens for English and more for code.
const BYTES_PER_TOKEN: usize = 4;
/// The tokens of an image or a file, whatever its size.
const TOKENS_OF_FILE: usize = 1_500;
/// The tokens around each message.
const TOKENS_OF_MESSAGE: usize = 4;

/// Returns the response with the tokens of a request. `prompt` are those of the agent's own prompt and of all tools.
#[must_use]
pub fn count(chat: &Chat, prompt: u64) -> Value {
    let messages: usize = chat.messages.iter().map(of_message).sum();
    let tokens = chat.instructions.len().div_ceil(BYTES_PER_TOKEN) + messages;
    json!({"input_tokens": u64::try_from(tokens).unwrap_or(u64::MAX).saturating_add(prompt)})
}

fn of_message(message: &ChatMessage) -> usize {
    let (bytes, files) = match message {
        ChatMessage::System(text) | ChatMessage::Assistant(text) => (text.len(), 0),
        ChatMessage::User(user) => (user.text.len(), user.images.len() + user.files.len()),
        ChatMessage::Call(call) => (call.name.len() + call.arguments.len(), 0),
        ChatMessage::Result(result) => (result.output.len(), 0),
    };
    bytes.div_ceil(BYTES_PER_TOKEN) + files * TOKENS_OF_FILE + TOKENS_OF_MESSAGE
}
