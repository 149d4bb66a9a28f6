//! The blocks of an earlier reply.

use std::borrow::Cow;

use agent::model::{Reasoning, ReplyItem};

use crate::bedrock_converse::request::{Content, ReasoningContent};
use crate::block_reply::{REDACTED_THINKING, THINKING, separates_reasoning};
use crate::prompt;
use crate::tool_calls::input_object;

/// Builds the blocks of a reply. Skips the reasoning and the hosted tools of other wires, and blank
/// text that isn't between two blocks of thinking.
pub(super) fn blocks(items: &[ReplyItem]) -> impl Iterator<Item = Content<'_>> {
    items.iter().enumerate().filter_map(|(at, item)| match item {
        ReplyItem::Text { text, .. } => (prompt::non_blank(text).is_some() || separates_reasoning(items, at))
            .then_some(Content::Text(Cow::Borrowed(text))),
        ReplyItem::Reasoning(reasoning) => reasoning_content(reasoning).map(Content::ReasoningContent),
        ReplyItem::Hosted(_) => None,
        ReplyItem::Call(call) => {
            Some(Content::ToolUse { tool_use_id: &call.call_id, name: &call.name, input: input_object(call) })
        }
    })
}

/// Returns reasoning as it came. Models that don't sign their reasoning refuse to get it back.
fn reasoning_content(reasoning: &Reasoning) -> Option<ReasoningContent<'_>> {
    if reasoning.encrypted.is_empty() {
        return None;
    }
    match reasoning.id.as_str() {
        THINKING => {
            let text = reasoning.summary.first().and_then(|part| part.get("thinking")?.as_str());
            Some(ReasoningContent::ReasoningText {
                text: text.unwrap_or_default(),
                signature: &reasoning.encrypted,
            })
        }
        REDACTED_THINKING => Some(ReasoningContent::RedactedContent(&reasoning.encrypted)),
        _ => None,
    }
}
