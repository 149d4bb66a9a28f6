//! Errors before a stream begins: `{"error", "message"}`, as CopilotKit's runtime has them. `HttpAgent` shows the body.

use contracts::{Error, ErrorCode};
use fronts::MemberError;
use histories::StartError;
use serde_json::{Value, json};

/// An error of this API.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// The code, which has the HTTP status.
    pub code: ErrorCode,
    /// A message that names the member, says what is wrong and how to fix it.
    pub message: String,
    /// Seconds to wait before a retry.
    pub retry_after_seconds: Option<u64>,
}

impl ApiError {
    /// Creates an error.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), retry_after_seconds: None }
    }

    /// Returns the error as the body of a response.
    #[must_use]
    pub fn body(&self) -> Value {
        json!({"error": self.code.as_str(), "message": self.message})
    }
}

impl MemberError for ApiError {
    fn member(path: &str, rule: &str) -> Self {
        Self::new(ErrorCode::MemberInvalid, format!("{path}: {rule}"))
    }
}

impl From<Error> for ApiError {
    /// Translates an error of the service. Members get the names of this protocol.
    fn from(error: Error) -> Self {
        let Error { error_code, message, details, retry_after_seconds } = error;
        let message = match error_code {
            ErrorCode::AgentContextNotFound => {
                format!("The agent '{}' doesn't exist.", details.unwrap_or_default())
            }
            ErrorCode::SessionContextMismatch => {
                "A thread keeps the agent of its first run. Name that agent, or begin another thread."
                    .to_owned()
            }
            ErrorCode::SessionBusy => {
                "threadId: another run of this thread is active. Connect to it, stop it, or wait for its end."
                    .to_owned()
            }
            ErrorCode::TurnIdConflict => "runId: another input has this id. Use a new runId.".to_owned(),
            _ => match details.as_deref().and_then(member) {
                Some(member) => format!("{member}: {message}"),
                None => message,
            },
        };
        Self { code: error_code, message, retry_after_seconds }
    }
}

impl From<StartError> for ApiError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::NothingNew => {
                let rule = "must end with a message of the user or results of tools. To read a thread, connect to it";
                Self::member("messages", rule)
            }
            StartError::UnknownCall(id) => no_pending_call(&id),
            StartError::Invalid(error) => (*error).into(),
            StartError::File(error) => Self::member("messages", &error.to_string()),
            StartError::Refused(refusal) => fronts::refused(&refusal),
        }
    }
}

/// Returns the error of a result that no call waits for.
pub(crate) fn no_pending_call(id: &str) -> ApiError {
    let message = format!("messages: no call '{id}' of this thread waits for a result");
    ApiError::new(ErrorCode::ToolResultsMismatch, message)
}

/// Returns this protocol's name of a member of the service's requests.
fn member(details: &str) -> Option<&'static str> {
    match details.split(['.', '[']).next().unwrap_or_default() {
        "Instruction" | "ClipboardImages" | "InputArtifacts" | "ToolResults" => Some("messages"),
        // System messages, the context and the state enter there.
        "SolutionContextText" => Some("context"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_service_keep_status_and_code() {
        let error = ApiError::from(Error::from(ErrorCode::SessionBusy));
        assert_eq!((error.code, error.code.http_status()), (ErrorCode::SessionBusy, 409));
        assert!(error.message.starts_with("threadId: "), "{error}");
        let long = Error::new(ErrorCode::MemberInvalid, "is too long").with_details("SolutionContextText");
        assert_eq!(ApiError::from(long).message, "context: is too long");
    }
}
