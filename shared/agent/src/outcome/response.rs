//! The response of a turn, as stored.

use contracts::{AgentExecuteResponse, Error, ErrorCode, InvokeResult, response::FileRef};
use protocol::{stream_position::Segment, turn::EndReason};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A stored response. It is stored as bytes, so that a replay can't differ from the first reply.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Response {
    /// The `InvokeResult`, as first serialized.
    pub body: Box<RawValue>,
    /// The error code, which decides the HTTP status.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error_code: Option<ErrorCode>,
    /// Suggested wait after an error, in seconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retry_after_seconds: Option<u64>,
    /// The segment of the turn's stream whose text is a prefix of the answer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub segment: Option<Segment>,
}

impl Response {
    pub(super) fn new(result: &InvokeResult<AgentExecuteResponse>, error_code: Option<ErrorCode>) -> Self {
        // Serializing these types can't fail: they contain only strings, numbers and lists.
        let body = serde_json::value::to_raw_value(result).unwrap_or_default();
        Self { body, error_code, retry_after_seconds: None, segment: None }
    }

    /// Returns the answer's text, of a completed turn.
    #[must_use]
    pub fn answer_text(&self) -> Option<String> {
        match self.read()? {
            AgentExecuteResponse::Final(answer) => Some(answer.primary_output_text),
            AgentExecuteResponse::ClientToolContinuation(_) => None,
        }
    }

    /// Returns the files that the answer refers to, of a completed turn.
    #[must_use]
    pub fn files(&self) -> Vec<FileRef> {
        match self.read() {
            Some(AgentExecuteResponse::Final(answer)) => answer.files,
            Some(AgentExecuteResponse::ClientToolContinuation(_)) | None => Vec::new(),
        }
    }

    /// Returns the text that accompanies calls for the client.
    pub(super) fn continuation_text(&self) -> Option<String> {
        match self.read()? {
            AgentExecuteResponse::Final(_) => None,
            AgentExecuteResponse::ClientToolContinuation(calls) => calls.tool_continuation_message,
        }
    }

    fn read(&self) -> Option<AgentExecuteResponse> {
        let result: InvokeResult<AgentExecuteResponse> = serde_json::from_str(self.body.get()).ok()?;
        result.into_outcome().ok()
    }

    /// Returns the body's bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.body.get().as_bytes().to_vec()
    }

    /// Creates a response with another result than a turn's.
    #[must_use]
    pub fn of<T: Serialize + Clone>(result: &T) -> Self {
        let body = serde_json::value::to_raw_value(&InvokeResult::ok(result.clone())).unwrap_or_default();
        Self { body, error_code: None, retry_after_seconds: None, segment: None }
    }

    /// Creates an error response.
    #[must_use]
    pub fn error(error: Error) -> Self {
        let (code, retry_after_seconds) = (error.error_code, error.retry_after_seconds);
        Self { retry_after_seconds, ..Self::new(&InvokeResult::err(error), Some(code)) }
    }

    /// Creates the response of a turn that was ended from outside. Its bytes are the same every time.
    #[must_use]
    pub fn from_end_reason(reason: EndReason) -> Self {
        Self::error(reason.error())
    }
}
