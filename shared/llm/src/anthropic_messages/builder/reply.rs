//! The blocks of an earlier reply.

use std::borrow::Cow;

use agent::model::{FunctionCall, Reasoning, ReplyItem};
use serde_json::{Value, json};

use crate::anthropic_messages::request::{Block, Content};
use crate::prompt;

/// The name of reasoning that is signed.
pub const THINKING: &str = "thinking";

/// The name of reasoning that is encrypted.
pub const REDACTED_THINKING: &str = "redacted_thinking";

/// Builds the blocks of a reply. Skips the reasoning and the hosted tools of other wires, and blank text.
pub(super) fn blocks(items: &[ReplyItem]) -> Vec<Block<'_>> {
    let content = items.iter().filter_map(|item| match item {
        ReplyItem::Text(text) => {
            prompt::non_blank(text).map(|text| Content::Text { text: Cow::Borrowed(text) })
        }
        ReplyItem::Reasoning(reasoning) => thinking(reasoning),
        ReplyItem::Hosted(_) => None,
        ReplyItem::Call(call) => {
            Some(Content::ToolUse { id: portable_id(&call.call_id), name: &call.name, input: input(call) })
        }
    });
    content.map(Block::from).collect()
}

fn thinking(reasoning: &Reasoning) -> Option<Content<'_>> {
    match reasoning.id.as_str() {
        THINKING => {
            let text = reasoning.summary.first().and_then(|part| part.get("thinking")?.as_str());
            Some(Content::Thinking { thinking: text.unwrap_or_default(), signature: &reasoning.encrypted })
        }
        REDACTED_THINKING => Some(Content::RedactedThinking { data: &reasoning.encrypted }),
        _ => None,
    }
}

/// Parses the arguments of a call. The API requires an object.
fn input(call: &FunctionCall) -> Value {
    match serde_json::from_str(&call.arguments) {
        Ok(input @ Value::Object(_)) => input,
        _ if call.arguments.trim().is_empty() => json!({}),
        _ => json!({ "arguments": call.arguments }),
    }
}

/// Returns the id, with an underscore for every character that the API refuses. A session may bring ids from another
/// provider.
pub(super) fn portable_id(id: &str) -> Cow<'_, str> {
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    match id.chars().all(is_allowed) {
        true => Cow::Borrowed(id),
        false => Cow::Owned(
            id.chars().map(|character| if is_allowed(character) { character } else { '_' }).collect(),
        ),
    }
}
