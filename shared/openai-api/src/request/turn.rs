//! Translates a request into the service's own: a user turn, or the results of a turn's tools.

use contracts::{AgentExecuteRequest, Error, ErrorCode, ToolContinuation, UserTurn, response::ToolCall};
use serde_json::{Value, json};

use super::{
    CreateResponse,
    input::{Content, FunctionOutput, InlineData, InputFile, UserMessage},
};
use crate::{error::ApiError, id::ResponseId};

impl CreateResponse {
    /// Returns the user turn with these ids.
    ///
    /// # Errors
    /// If the service's own rules refuse it, for example an image that is none.
    pub fn user_turn(&self, ids: &ResponseId, message: &UserMessage) -> Result<UserTurn, ApiError> {
        let UserMessage { text, images, files } = message;
        let images = (1..).zip(images).map(image).collect::<Result<Vec<_>, _>>()?;
        let files = files.iter().map(artifact).collect::<Result<Vec<_>, _>>()?;
        let body = json!({
            "SessionId": ids.session.as_str(),
            "TurnId": ids.turn.as_str(),
            "Instruction": text,
            "ClipboardImages": images,
            "InputArtifacts": files,
            "SolutionContextText": self.instructions,
            "AgentContextId": self.agent,
            "Streaming": self.stream || self.background,
        });
        let body = body.to_string();
        match AgentExecuteRequest::parse(body.as_bytes()).map_err(first)? {
            AgentExecuteRequest::UserTurn(mut turn) => {
                turn.options = Some(Box::new(self.options.clone()));
                Ok(turn)
            }
            AgentExecuteRequest::ToolContinuation(_) => Err(ApiError::value("input", "is invalid")),
        }
    }
}

/// Returns the results of a response's calls, in the order of the calls.
///
/// # Errors
/// If a call has no output, or an output has no call.
pub fn tool_continuation(
    ids: &ResponseId,
    calls: &[ToolCall],
    outputs: &[FunctionOutput],
) -> Result<ToolContinuation, ApiError> {
    // Chat Completions know a call by the id of its item, which names the turn.
    let is_of = |output: &FunctionOutput, n: usize, call: &ToolCall| {
        output.call_id == call.tool_call_id || output.call_id == ids.call(n)
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
    let result = |(n, call): (usize, &ToolCall)| {
        let output = outputs.iter().find(|output| is_of(output, n, call)).ok_or_else(|| {
            let message = format!("No tool output found for function call {}.", ids.call(n));
            ApiError::invalid("input", "invalid_value", message)
        })?;
        Ok(json!({
            "ToolCallId": call.tool_call_id,
            "ExecutionMs": 0,
            "ResultJson": result_json(&output.output),
        }))
    };
    let results: Vec<Value> = calls.iter().enumerate().map(result).collect::<Result<_, ApiError>>()?;
    let body = json!({
        "SessionId": ids.session.as_str(),
        "TurnId": ids.turn.as_str(),
        "ToolResults": results,
    });
    ToolContinuation::parse(body.to_string().as_bytes()).map_err(first)
}

/// Returns an output as a JSON text: as it is if it is one, else as a JSON string.
fn result_json(output: &str) -> String {
    let is_json = serde_json::from_str::<Value>(output).is_ok();
    if is_json { output.to_owned() } else { Value::from(output).to_string() }
}

fn image((number, content): (usize, &Content)) -> Result<Value, ApiError> {
    let InlineData { mime_type, base64 } = content.inline()?;
    Ok(json!({"Id": format!("image-{number}"), "MimeType": mime_type, "DataBase64": base64}))
}

fn artifact(InputFile { name, content }: &InputFile) -> Result<Value, ApiError> {
    let InlineData { mime_type, base64 } = content.inline()?;
    Ok(json!({
        "RelativePath": name,
        "FileName": name.rsplit(['/', '\\']).next(),
        "Contents": base64,
        "Encoding": "base64",
        "Origin": "user",
        "MimeType": mime_type,
    }))
}

fn first(errors: Vec<Error>) -> ApiError {
    let error = errors.into_iter().next();
    // The body that the service's own rule is about isn't the client's.
    if error.as_ref().is_some_and(|error| error.error_code == ErrorCode::PayloadTooLarge) {
        let message = "The input is larger than 4 MiB, with its images and files in base64.";
        return ApiError { status: 413, ..ApiError::invalid("input", "request_too_large", message) };
    }
    ApiError::from(error.unwrap_or_else(|| ErrorCode::Internal.into()))
}
