//! Builds the turn of a chat, and the results that resume one.

use contracts::{
    AgentExecuteRequest, Error, ErrorCode, ToolContinuation, UserTurn,
    request::{ChatContent, ChatFile, ChatMessage, ChatResult, InlineData, TurnOptions, UserMessage},
    response::ToolCall,
};
use serde_json::{Value, json};

use crate::{chat::TurnRound, error::StartError};

/// The result of a call that the client sent none for.
const NOT_RUN: &str = "The call wasn't run.";

/// A turn to start.
#[derive(Debug, Clone, Copy)]
pub struct NewTurn<'a> {
    /// The agent, if the request names one.
    pub agent: Option<&'a str>,
    /// The standing instructions.
    pub instructions: &'a str,
    /// The settings of the turn.
    pub options: &'a TurnOptions,
    /// True if the answer is streamed.
    pub is_streamed: bool,
    /// The messages before the input that no stored turn has.
    pub ancestry: &'a [ChatMessage],
    /// The input. Empty if the ancestry ends with the results to answer.
    pub message: &'a UserMessage,
}

impl NewTurn<'_> {
    /// Returns the turn with these ids.
    ///
    /// # Errors
    /// If the service's own rules refuse it, for example an image that is none.
    pub fn with_ids(&self, ids: &TurnRound) -> Result<UserTurn, StartError> {
        let Self { message: UserMessage { text, images, files }, .. } = self;
        let has_no_input = text.trim().is_empty() && images.is_empty() && files.is_empty();
        let answers_results = has_no_input && !self.ancestry.is_empty();
        let images = (1..).zip(images).map(image).collect::<Result<Vec<_>, _>>()?;
        let files = files.iter().map(artifact).collect::<Result<Vec<_>, _>>()?;
        let body = json!({
            "SessionId": ids.session.as_str(),
            "TurnId": ids.turn.as_str(),
            // The rules require an input.
            "Instruction": if answers_results { "-" } else { text.as_str() },
            "ClipboardImages": images,
            "InputArtifacts": files,
            "SolutionContextText": self.instructions,
            "AgentContextId": self.agent,
            "Streaming": self.is_streamed,
        });
        let AgentExecuteRequest::UserTurn(turn) =
            AgentExecuteRequest::parse(body.to_string().as_bytes()).map_err(first_error)?
        else {
            return Err(internal().into());
        };
        let mut turn = turn;
        turn.instruction = turn.instruction.filter(|_| !answers_results);
        turn.options = Some(Box::new(self.options.clone()));
        turn.ancestry = self.ancestry.to_vec();
        Ok(turn)
    }
}

/// Returns the results of a turn's calls. `sent` are the ids of the calls as the client sends them. Results without an id are
/// those of the calls in order. A call without a result wasn't run.
///
/// # Errors
/// If the service's own rules refuse them.
pub fn continuation(
    id: &TurnRound,
    calls: &[ToolCall],
    sent: &[&str],
    results: &[&ChatResult],
    message: Option<String>,
) -> Result<ToolContinuation, StartError> {
    let mut unnamed = results.iter().filter(|result| result.call_id.is_empty());
    let bodies: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(n, call)| {
            let is_of = |result: &&&ChatResult| {
                let id = result.call_id.as_str();
                !id.is_empty() && (sent.get(n).is_some_and(|sent| *sent == id) || id == call.tool_call_id)
            };
            let result = results.iter().rfind(is_of).or_else(|| unnamed.next());
            let (name, text) = match result {
                Some(ChatResult { output, is_error: true, .. }) => ("ErrorMessage", output.clone()),
                Some(ChatResult { output, .. }) => ("ResultJson", result_json(output)),
                None => ("ErrorMessage", NOT_RUN.to_owned()),
            };
            json!({"ToolCallId": call.tool_call_id, "ExecutionMs": 0, name: text})
        })
        .collect();
    let body = json!({
        "SessionId": id.session.as_str(), "TurnId": id.turn.as_str(), "ToolResults": bodies,
    });
    let mut continuation = ToolContinuation::parse(body.to_string().as_bytes()).map_err(first_error)?;
    continuation.message = message;
    Ok(continuation)
}

/// Returns an output as a JSON text: as it is if it is one, else as a JSON string.
fn result_json(output: &str) -> String {
    let is_json = serde_json::from_str::<Value>(output).is_ok();
    if is_json { output.to_owned() } else { Value::from(output).to_string() }
}

fn image((number, content): (usize, &ChatContent)) -> Result<Value, StartError> {
    let InlineData { mime_type, base64 } = inline(content)?;
    Ok(json!({"Id": format!("image-{number}"), "MimeType": mime_type, "DataBase64": base64}))
}

fn artifact(ChatFile { name, content }: &ChatFile) -> Result<Value, StartError> {
    let InlineData { mime_type, base64 } = inline(content)?;
    Ok(json!({
        "RelativePath": name,
        "FileName": name.rsplit(['/', '\\']).next(),
        "Contents": base64,
        "Encoding": "base64",
        "Origin": "user",
        "MimeType": mime_type,
    }))
}

/// Returns the inline content. The port has replaced uploaded files.
fn inline(content: &ChatContent) -> Result<&InlineData, StartError> {
    match content {
        ChatContent::Inline(data) => Ok(data),
        ChatContent::Uploaded(_) => Err(internal().into()),
    }
}

pub(crate) fn internal() -> Error {
    ErrorCode::Internal.into()
}

fn first_error(errors: Vec<Error>) -> StartError {
    errors.into_iter().next().unwrap_or_else(internal).into()
}
