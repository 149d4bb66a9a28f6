//! The `[TOOL_RESULTS]` block (AGN-003 §5.3; docs/formats.md): what tools returned, as text.

use contracts::response::ToolOutcome;

use crate::model::ToolOutput;

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
        "- CallId: {}\n  Name: {}\n  ArgumentsJson:\n{}  {member}:\n{}",
        one_line(&call.call_id),
        one_line(&call.name),
        indented(&call.arguments),
        indented(value),
    )
}

/// Every line is indented, so that no value can pass for the block's own structure (I15).
fn indented(value: &str) -> String {
    let value = value.replace("\r\n", "\n").replace('\r', "\n");
    value.split('\n').map(|line| format!("    {line}\n")).collect()
}

fn one_line(value: &str) -> String {
    value.replace(['\r', '\n'], " ")
}
