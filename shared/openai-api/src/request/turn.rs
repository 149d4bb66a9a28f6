//! Translates a request into the service's own: a user turn, or the results of a turn's tools.

use contracts::{
    ToolContinuation, UserTurn,
    request::{ChatResult as FunctionOutput, UserMessage},
    response::ToolCall,
};
use histories::{NewTurn, continuation};

use super::CreateResponse;
use crate::{error::ApiError, id::ResponseId};

impl CreateResponse {
    /// Returns the user turn with these ids.
    ///
    /// # Errors
    /// If the service's own rules refuse it, for example an image that is none.
    pub fn user_turn(&self, ids: &ResponseId, message: &UserMessage) -> Result<UserTurn, ApiError> {
        let turn = NewTurn {
            agent: self.agent.as_deref(),
            instructions: &self.instructions,
            options: &self.options,
            is_streamed: self.stream || self.background,
            ancestry: &self.ancestry,
            message,
        };
        turn.with_ids(&ids.clone().into()).map_err(ApiError::from)
    }
}

/// Returns the results of a response's calls, in the order of the calls.
///
/// # Errors
/// If a call has no output, an output has no call, or the message after them has files.
pub fn tool_continuation(
    ids: &ResponseId,
    calls: &[ToolCall],
    outputs: &[FunctionOutput],
    message: Option<&UserMessage>,
) -> Result<ToolContinuation, ApiError> {
    if message.is_some_and(|message| !message.images.is_empty() || !message.files.is_empty()) {
        return Err(ApiError::value(
            "input",
            "can't hold files beside outputs of functions; send them with the next message",
        ));
    }
    // Chat Completions know a call by the id of its item, which names the turn.
    let is_of = |output: &FunctionOutput, n: usize, call: &ToolCall| {
        output.call_id == call.tool_call_id || ids.is_call(n, &output.call_id)
    };
    let has_call = |output: &FunctionOutput| calls.iter().enumerate().any(|(n, call)| is_of(output, n, call));
    let unknown = outputs.iter().find(|output| !has_call(output));
    if let Some(FunctionOutput { call_id, .. }) = unknown {
        let message = format!("No tool call found for function call output with call_id {call_id}.");
        return Err(ApiError::invalid("input", "invalid_value", message));
    }
    if outputs.len() > calls.len() {
        return Err(ApiError::value("input", "holds two outputs of one function call"));
    }
    for n in 0..calls.len() {
        let is_given = |call: &ToolCall| outputs.iter().any(|output| is_of(output, n, call));
        if !calls.get(n).is_some_and(is_given) {
            let message = format!("No tool output found for function call {}.", ids.call(n));
            return Err(ApiError::invalid("input", "invalid_value", message));
        }
    }
    let sent = |(n, call): (usize, &ToolCall)| {
        outputs.iter().find(|output| is_of(output, n, call)).map_or("", |output| output.call_id.as_str())
    };
    let sent: Vec<&str> = calls.iter().enumerate().map(sent).collect();
    let outputs: Vec<&FunctionOutput> = outputs.iter().collect();
    let text = message.map(|message| message.text.clone()).filter(|text| !text.trim().is_empty());
    continuation(&ids.clone().into(), calls, &sent, &outputs, text).map_err(ApiError::from)
}
