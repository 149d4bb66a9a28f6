//! Errors in Anthropic's shape: `{"type":"error","error":{"type","message"}}`.

use contracts::{Error, ErrorCode, error::Retry};
use fronts::{MemberError, client_status};
use histories::StartError;
use http::StatusCode;
use runtime::dialect::anthropic_type;
use serde_json::{Value, json};

/// An error of this API.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// The HTTP status.
    pub status: u16,
    /// A message that names the member, says what is wrong and how to fix it.
    pub message: String,
    /// The stable code in `details`, for errors that clients handle.
    pub code: Option<ThreadErrorCode>,
    /// True if the same request may succeed later. `None`: decided by the status.
    pub retry: Option<bool>,
    /// Seconds to wait before a retry.
    pub retry_after_seconds: Option<u64>,
}

/// The reason why a thread can't be continued. The SDKs handle all but `FingerprintMismatch`: they send the whole history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadErrorCode {
    /// The previous message isn't known.
    NotFound,
    /// Another message follows the previous one.
    AlreadyContinued,
    /// The turn of the previous message, or of one after it, is running.
    ContinueInFlight,
    /// A member that stays the same for a thread's life was sent again, or differs.
    FingerprintMismatch,
    /// A member can't be combined with a thread.
    UnsupportedRequest,
}

impl ThreadErrorCode {
    /// Returns the code as it appears on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "thread_not_found",
            Self::AlreadyContinued => "thread_already_continued",
            Self::ContinueInFlight => "thread_continue_in_flight",
            Self::FingerprintMismatch => "thread_fingerprint_mismatch",
            Self::UnsupportedRequest => "thread_unsupported_request",
        }
    }
}

impl ApiError {
    /// Creates an error about a request, whose message begins with the path of the member.
    #[must_use]
    pub fn invalid(message: impl Into<String>) -> Self {
        Self {
            status: 400,
            message: message.into(),
            code: None,
            retry: Some(false),
            retry_after_seconds: None,
        }
    }

    /// Creates the error of a member that the service doesn't accept. Clients recognize the words and omit the member.
    #[must_use]
    pub fn not_permitted(path: &str) -> Self {
        Self::member(path, "Extra inputs are not permitted")
    }

    /// Creates the error of a model, or a path, that doesn't exist.
    #[must_use]
    pub fn not_found(message: impl Into<String>) -> Self {
        Self { status: 404, ..Self::invalid(message) }
    }

    /// Creates the error of a thread that can't be continued.
    #[must_use]
    pub fn thread(code: ThreadErrorCode, message: impl Into<String>) -> Self {
        let status = if code == ThreadErrorCode::NotFound { 404 } else { 400 };
        Self { status, code: Some(code), ..Self::invalid(message) }
    }

    /// Creates the error of a previous message that this caller can't continue from.
    #[must_use]
    pub fn thread_not_found() -> Self {
        let message = "previous_message_id: no message of a thread has this id. Send the whole conversation";
        Self::thread(ThreadErrorCode::NotFound, message)
    }

    /// Returns the error as the body of a response, and as the data of a stream's `error` event.
    #[must_use]
    pub fn body(&self) -> Value {
        let mut error = json!({"type": anthropic_type(self.status), "message": self.message});
        if let (Some(code), Value::Object(members)) = (self.code, &mut error) {
            members.insert("details".to_owned(), json!({"error_code": code.as_str()}));
        }
        json!({"type": "error", "error": error, "request_id": null})
    }

    /// Translates an error of OpenAI's API.
    #[must_use]
    pub fn from_openai(status: StatusCode, body: &Value) -> Self {
        let message = body.pointer("/error/message").and_then(Value::as_str).unwrap_or("The request failed");
        Self { status: status.as_u16(), retry: None, ..Self::invalid(message) }
    }
}

impl MemberError for ApiError {
    fn member(path: &str, rule: &str) -> Self {
        Self::invalid(format!("{path}: {rule}"))
    }
}

impl From<Error> for ApiError {
    /// Translates an error of the service. Members get the names of this API.
    fn from(error: Error) -> Self {
        let Error { error_code, message, details, retry_after_seconds } = error;
        let member = details.as_deref().and_then(member);
        let (status, message) = match error_code {
            ErrorCode::AgentContextNotFound => {
                (404, format!("model: the agent '{}' doesn't exist", details.unwrap_or_default()))
            }
            ErrorCode::MemberInvalid if member == Some("model") => (404, format!("model: {message}")),
            ErrorCode::SessionContextMismatch => {
                (400, "model: a chat keeps the agent of its first message; name that agent".to_owned())
            }
            // The words by which clients recognize a full context, to compact it.
            ErrorCode::ModelContextTooLong => (400, format!("prompt is too long: {message}")),
            ErrorCode::ModelQuotaExceeded => (402, message),
            _ => match member {
                Some(member) => (client_status(error_code), format!("{member}: {message}")),
                None => (client_status(error_code), message),
            },
        };
        let retry = Some(error_code.retry() == Retry::SameRequest);
        Self { status, message, code: None, retry, retry_after_seconds }
    }
}

impl From<StartError> for ApiError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::NothingNew => {
                let rule = "the conversation must end with a user message or with results of tools";
                Self::member("messages", rule)
            }
            StartError::UnknownCall(id) => {
                let rule = format!(
                    "unexpected tool_use_id found in tool_result blocks: {id}. The conversation needs the tool_use block with this id"
                );
                Self::member("messages", &rule)
            }
            StartError::Invalid(error) => (*error).into(),
            // The function's port reads files as OpenAI's API has them, and words their errors.
            StartError::File(error) => Self::member("messages", &error.to_string()),
            StartError::Refused(refusal) => fronts::refused(&refusal),
        }
    }
}

/// Returns this API's name of a member of the service's requests.
fn member(details: &str) -> Option<&'static str> {
    let name = details.split(['.', '[']).next().unwrap_or_default();
    let known = [
        ("Instruction", "messages"),
        ("ClipboardImages", "messages"),
        ("InputArtifacts", "messages"),
        ("ToolResults", "messages"),
        ("SolutionContextText", "system"),
        ("AgentContextId", "model"),
        ("Model", "model"),
    ];
    known.iter().find(|(own, _)| *own == name).map(|(_, theirs)| *theirs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_session_is_a_conflict_to_repeat() {
        let error = ApiError::from(Error::from(ErrorCode::SessionBusy));
        assert_eq!(
            (error.status, anthropic_type(error.status), error.retry),
            (409, "conflict_error", Some(true))
        );
    }

    #[test]
    fn body_has_type_and_message_in_an_error() {
        let body = ApiError::not_permitted("context_management").body();
        assert_eq!(
            body,
            json!({"type": "error", "request_id": null, "error": {
                "type": "invalid_request_error",
                "message": "context_management: Extra inputs are not permitted",
            }})
        );
    }

    #[test]
    fn thread_errors_have_a_code_in_details() {
        let error = ApiError::thread(ThreadErrorCode::NotFound, "No message has this id.");
        assert_eq!((error.status, anthropic_type(error.status)), (404, "not_found_error"));
        assert_eq!(error.body()["error"]["details"], json!({"error_code": "thread_not_found"}));
    }

    #[test]
    fn every_code_has_a_type_of_the_protocol() {
        for code in ErrorCode::ALL {
            let error = ApiError::from(Error::from(*code));
            assert!(error.status >= 400, "{code}");
            assert!(anthropic_type(error.status).ends_with("_error") || error.status == 413, "{code}");
        }
    }

    #[test]
    fn members_get_names_of_this_api() {
        let error =
            Error::new(ErrorCode::MemberInvalid, "is none").with_details("ClipboardImages[0].DataBase64");
        assert_eq!(ApiError::from(error).message, "messages: is none");
        assert_eq!(
            ApiError::from(Error::new(ErrorCode::MemberInvalid, "m").with_details("Model")).status,
            404
        );
    }
}
