//! Plain text responses for `Accept: text/plain`: the answer's text, then a line per file and warning; or the errors on
//! one line.

use crate::{
    error::Error,
    invoke_result::InvokeResult,
    response::{AgentExecuteResponse, ClientToolContinuation, Final},
};

/// Formats a result as plain text. The HTTP status distinguishes an answer from an error.
#[must_use]
pub fn plain_text(result: &InvokeResult<AgentExecuteResponse>) -> String {
    match result.outcome() {
        Ok(AgentExecuteResponse::Final(answer)) => {
            complete(answer, result.warnings().iter().map(|warning| warning.message.as_str()))
        }
        Ok(AgentExecuteResponse::ClientToolContinuation(continuation)) => waiting(continuation),
        Err(errors) => one_line(errors),
    }
}

/// Returns the answer's text. Its files and warnings follow after a blank line, each on a line of its own.
fn complete<'a>(answer: &'a Final, call_warnings: impl Iterator<Item = &'a str>) -> String {
    let files = answer.files.iter().map(|file| {
        format!("File: {} ({}, {} bytes) {}", file.name, file.mime_type, file.size_bytes, file.url)
    });
    let warnings = answer.user_warnings.iter().map(String::as_str).chain(call_warnings);
    let lines: Vec<String> = files
        .chain(warnings.map(|warning| format!("Warning: {warning}")))
        .map(|line| line.replace(char::is_control, " "))
        .collect();
    let text = &answer.primary_output_text;
    if lines.is_empty() {
        return text.clone();
    }
    format!("{}\n\n{}\n", text.trim_end_matches('\n'), lines.join("\n"))
}

/// Says that the turn waits for tool calls and how to get them, since plain text can't hold them.
fn waiting(continuation: &ClientToolContinuation) -> String {
    let names: Vec<&str> = continuation.tool_calls.iter().map(|call| call.name.as_str()).collect();
    format!(
        "The turn waits for results of client tools ({}), which its agent declares. Send the same request with \
         Accept: application/json to get the calls, and POST their results to /tool-results. To be answered \
         without them, name an agent that has no client tools in a new session.",
        names.join(", ")
    )
}

fn one_line(errors: &[Error]) -> String {
    let errors: Vec<String> = errors.iter().map(Error::to_string).collect();
    errors.join("; ").replace(char::is_control, " ")
}
