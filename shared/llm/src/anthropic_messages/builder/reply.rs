//! The blocks of an earlier reply.

use std::borrow::Cow;

use agent::model::{Reasoning, ReplyItem};

use crate::anthropic_messages::request::{Block, Content};
use crate::block_reply::{REDACTED_THINKING, THINKING, separates_reasoning};
use crate::prompt;
use crate::tool_calls::input_object;

/// Builds the blocks of a reply. Skips the reasoning and the hosted tools of other wires, and blank
/// text that isn't between two blocks of thinking.
pub(super) fn blocks(items: &[ReplyItem]) -> Vec<Block<'_>> {
    let content = items.iter().enumerate().filter_map(|(at, item)| match item {
        ReplyItem::Text { text, .. } => (prompt::non_blank(text).is_some() || separates_reasoning(items, at))
            .then_some(Content::Text { text: Cow::Borrowed(text) }),
        ReplyItem::Reasoning(reasoning) => thinking(reasoning),
        ReplyItem::Hosted(_) => None,
        ReplyItem::Call(call) => {
            Some(Content::ToolUse { id: &call.call_id, name: &call.name, input: input_object(call) })
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
