//! The `[TOOL_RESULTS]` block (AGN-003 §5.3; docs/formats.md): what tools returned, as text.

use std::borrow::Cow;

use contracts::response::ToolOutcome;

use crate::{model::ToolOutput, text::indented};

/// A value of more characters than this is told by its beginning.
const MOST_CHARS: usize = 512;

/// How much of it is told then.
const SHOWN_CHARS: usize = 256;

/// The beginning of a long value, and its length: the calls' outputs have the whole.
fn shortened(value: &str) -> Cow<'_, str> {
    // No text has more characters than bytes.
    let long = || value.len() > MOST_CHARS && value.chars().count() > MOST_CHARS;
    match value.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) if long() => {
            let (shown, all) = (value.split_at(end).0, value.chars().count());
            Cow::Owned(format!("{shown}\n[the first {SHOWN_CHARS} of {all} characters]"))
        }
        _ => Cow::Borrowed(value),
    }
}

/// The block; nothing when there are no results.
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
        indented(&shortened(&call.arguments)),
        indented(&shortened(value)),
    )
}

fn one_line(value: &str) -> String {
    value.replace(['\r', '\n'], " ")
}
