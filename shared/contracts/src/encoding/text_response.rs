//! Plain text responses for `Accept: text/plain`: the answer's text, or the errors on one line.

use crate::{
    error::Error,
    invoke_result::InvokeResult,
    response::{AgentExecuteResponse, ClientToolContinuation},
};

/// Formats a result as plain text. The HTTP status distinguishes an answer from an error.
#[must_use]
pub fn plain_text(result: &InvokeResult<AgentExecuteResponse>) -> String {
    match result.outcome() {
        Ok(AgentExecuteResponse::Final(answer)) => answer.primary_output_text.clone(),
        Ok(AgentExecuteResponse::ClientToolContinuation(continuation)) => waiting(continuation),
        Err(errors) => one_line(errors),
    }
}

/// Says that the turn waits for tool calls and how to get them, since plain text can't hold them.
fn waiting(continuation: &ClientToolContinuation) -> String {
    let names: Vec<&str> = continuation.tool_calls.iter().map(|call| call.name.as_str()).collect();
    format!(
        "The turn waits for results of client tools ({}). Send the same request with Accept: \
         application/json to get the calls.",
        names.join(", ")
    )
}

fn one_line(errors: &[Error]) -> String {
    let errors: Vec<String> = errors.iter().map(Error::to_string).collect();
    errors.join("; ").replace(char::is_control, " ")
}
