//! The `[TOOL_RESULTS]` block: tool results as text (docs/reference/formats.md).

use std::borrow::Cow;

use contracts::response::ToolOutcome;

use crate::{model::ToolOutput, text::indent};

/// A longer value, in characters, is truncated.
const MAX_CHARS: usize = 512;

/// The number of characters that a truncated value keeps.
const EXCERPT_CHARS: usize = 256;

/// Truncates a long value and notes its full length. The calls' outputs have the complete value.
fn truncate(value: &str) -> Cow<'_, str> {
    // Cheap check first: a text never has more characters than bytes.
    let is_long = || value.len() > MAX_CHARS && value.chars().count() > MAX_CHARS;
    match value.char_indices().nth(EXCERPT_CHARS) {
        Some((end, _)) if is_long() => {
            let (excerpt, all) = (value.split_at(end).0, value.chars().count());
            Cow::Owned(format!("{excerpt}\n[the first {EXCERPT_CHARS} of {all} characters]"))
        }
        _ => Cow::Borrowed(value),
    }
}

/// Renders the block. `None` without results.
#[must_use]
pub fn results_block(outputs: &[ToolOutput]) -> Option<String> {
    if outputs.is_empty() {
        return None;
    }
    let entries: Vec<String> = outputs.iter().map(entry).collect();
    Some(format!("[TOOL_RESULTS]\n\n{}", entries.join("\n")))
}

fn entry(output: &ToolOutput) -> String {
    let call = &output.call;
    let (member, value) = match &output.outcome {
        ToolOutcome::ResultJson(json) => ("ResultJson", json),
        ToolOutcome::ErrorMessage(message) => ("ErrorMessage", message),
    };
    format!(
        "- CallId: {}\n  Name: {}\n  ArgumentsJson:\n{}\n  {member}:\n{}\n",
        one_line(&call.call_id),
        one_line(&call.name),
        indent(&truncate(&call.arguments)),
        indent(&truncate(value)),
    )
}

fn one_line(value: &str) -> String {
    value.replace(['\r', '\n'], " ")
}
