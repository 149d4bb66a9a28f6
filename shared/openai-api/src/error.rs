//! Errors in OpenAI's shape: `{"error":{"message","type","param","code"}}`.

use contracts::{Error, ErrorCode, error::Retry};
use fronts::client_status;
use histories::StartError;
use serde_json::{Value, json};
use turns::refusal::Refusal;

/// An error of this API.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// The HTTP status.
    pub status: u16,
    /// A message that says what is wrong and how to fix it.
    pub message: String,
    /// The member that the error is about.
    pub param: Option<String>,
    /// A stable code.
    pub code: Option<String>,
    /// True if the same request may succeed later. None: decided by the status.
    pub retry: Option<bool>,
    /// Seconds to wait before a retry.
    pub retry_after_seconds: Option<u64>,
}

impl ApiError {
    /// Creates an error about a member of a request.
    #[must_use]
    pub fn invalid(param: &str, code: &str, message: impl Into<String>) -> Self {
        Self {
            status: 400,
            message: message.into(),
            param: (!param.is_empty()).then(|| param.to_owned()),
            code: Some(code.to_owned()),
            retry: Some(false),
            retry_after_seconds: None,
        }
    }

    /// Creates an error about a member whose value breaks a rule.
    #[must_use]
    pub fn value(param: &str, rule: &str) -> Self {
        Self::invalid(param, "invalid_value", format!("Invalid value: '{param}' {rule}."))
    }

    /// Creates an error about a member that the service doesn't know.
    #[must_use]
    pub fn unknown(param: &str) -> Self {
        Self::invalid(param, "unknown_parameter", format!("Unknown parameter: '{param}'."))
    }

    /// Creates an error about a member that the service can't honour, with the alternative.
    #[must_use]
    pub fn unsupported(param: &str, alternative: &str) -> Self {
        Self::invalid(
            param,
            "unsupported_parameter",
            format!("Unsupported parameter: '{param}' isn't supported by this service. {alternative}"),
        )
    }

    /// The conversation does not exist. `param` names the id.
    #[must_use]
    pub fn conversation_not_found(param: &str, id: &str) -> Self {
        let message = format!("Conversation with id '{id}' not found.");
        Self { status: 404, ..Self::invalid(param, "not_found", message) }
    }

    /// Creates the error of a response that doesn't exist.
    #[must_use]
    pub fn response_not_found(id: &str) -> Self {
        Self {
            status: 404,
            ..Self::invalid("id", "not_found", format!("Response with id '{id}' not found."))
        }
    }

    /// Creates the error of a file that doesn't exist.
    #[must_use]
    pub fn file_not_found(id: &str) -> Self {
        Self { status: 404, ..Self::invalid("id", "not_found", format!("File with id '{id}' not found.")) }
    }

    /// Creates the error of a vector store that doesn't exist. `param` names the id.
    #[must_use]
    pub fn vector_store_not_found(param: &str, id: &str) -> Self {
        let message = format!("Vector store with id '{id}' not found.");
        Self { status: 404, ..Self::invalid(param, "not_found", message) }
    }

    /// Creates the error of a request that names a file which doesn't exist. `param` names the id.
    #[must_use]
    pub fn unknown_file(param: &str, id: &str) -> Self {
        Self::invalid(param, "file_not_found", format!("File with id '{id}' not found."))
    }

    /// Creates the error of files that are too large, alone or together. `param` holds them.
    #[must_use]
    pub fn too_large(param: &str, bytes: usize, limit: usize) -> Self {
        let message = format!("The file content has {bytes} bytes, at most {limit} are allowed.");
        Self { status: 413, ..Self::invalid(param, "request_too_large", message) }
    }

    /// Creates the error of a path that doesn't exist.
    #[must_use]
    pub fn path_not_found(method: &str, path: &str) -> Self {
        Self {
            status: 404,
            ..Self::invalid("", "unknown_url", format!("Unknown request URL: {method} {path}."))
        }
    }

    /// Creates the error of a previous response that can't be continued from.
    #[must_use]
    pub fn previous_not_found(id: &str) -> Self {
        Self::invalid(
            "previous_response_id",
            "previous_response_not_found",
            format!("Previous response with id '{id}' not found."),
        )
    }

    /// Returns the error as the body of a response.
    #[must_use]
    pub fn body(&self) -> Value {
        json!({"error": {"message": self.message, "type": self.kind(), "param": self.param, "code": self.code}})
    }

    /// Returns the value of `type`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.status {
            401 => "authentication_error",
            403 => "permission_error",
            429 => "rate_limit_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        }
    }
}

impl From<StartError> for ApiError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::NothingNew => {
                Self::value("messages", "must end with a user message or results of tools")
            }
            StartError::UnknownCall(id) => {
                let message = format!("No tool call found for function call output with call_id {id}.");
                Self::invalid("messages", "invalid_value", message)
            }
            // The body that the service's own rule is about isn't the client's.
            StartError::Invalid(error) if error.error_code == ErrorCode::PayloadTooLarge => {
                let message = "The input is larger than 4 MiB, with its images and files in base64.";
                Self { status: 413, ..Self::invalid("input", "request_too_large", message) }
            }
            StartError::Invalid(error) => (*error).into(),
            StartError::Refused(refusal) => refused(&refusal),
            StartError::File(error) => match error.downcast::<Self>() {
                Ok(error) => *error,
                Err(_) => Error::from(ErrorCode::Internal).into(),
            },
        }
    }
}

/// Returns the error of a refused request, and logs its cause if the service is at fault.
#[must_use]
pub fn refused(refusal: &Refusal) -> ApiError {
    let error = refusal.error();
    let _ = runtime::Reply::error_with_cause(refusal, error.clone());
    error.into()
}

impl From<Error> for ApiError {
    /// Translates an error of the service. Members get the names of this API.
    fn from(error: Error) -> Self {
        let Error { error_code, message, details, retry_after_seconds } = error;
        let param = details.as_deref().and_then(param);
        let (status, code) = match error_code {
            ErrorCode::AgentContextNotFound => (404, "model_not_found"),
            ErrorCode::MemberInvalid if param.as_deref() == Some("model") => (404, "model_not_found"),
            ErrorCode::SessionContextMismatch => (client_status(error_code), "invalid_value"),
            ErrorCode::TurnIdConflict | ErrorCode::SessionIdConflict => (409, "idempotency_error"),
            ErrorCode::SessionBusy => (409, "conversation_locked"),
            ErrorCode::TurnInProgress => (409, "response_in_progress"),
            ErrorCode::Unauthenticated => (401, "invalid_api_key"),
            ErrorCode::ModelContextTooLong => (400, "context_length_exceeded"),
            ErrorCode::ModelContentFiltered => (400, "content_filter"),
            ErrorCode::ModelRateLimited | ErrorCode::TooManyRequests => (429, "rate_limit_exceeded"),
            ErrorCode::ModelQuotaExceeded | ErrorCode::BudgetExceeded | ErrorCode::TurnOverBudget => {
                (429, "insufficient_quota")
            }
            ErrorCode::ModelRejected => (client_status(error_code), "invalid_prompt"),
            ErrorCode::ModelNotFound => (client_status(error_code), "model_not_found"),
            other => (client_status(other), other.as_str()),
        };
        let message = match error_code {
            ErrorCode::AgentContextNotFound => {
                format!("The agent '{}' doesn't exist.", details.unwrap_or_default())
            }
            ErrorCode::SessionContextMismatch => {
                "A conversation keeps the agent of its first response. Name that agent, or begin another one."
                    .to_owned()
            }
            ErrorCode::TurnIdConflict => {
                "The Idempotency-Key was used with another request. Send a new key.".to_owned()
            }
            ErrorCode::SessionIdConflict => {
                "The responses of this Idempotency-Key were deleted too often. Send a new key.".to_owned()
            }
            _ => message,
        };
        let param = match error_code {
            ErrorCode::AgentContextNotFound | ErrorCode::SessionContextMismatch => Some("model".to_owned()),
            _ => param,
        };
        let retry = Some(error_code.retry() == Retry::SameRequest);
        Self { status, message, param, code: Some(code.to_owned()), retry, retry_after_seconds }
    }
}

/// Returns this API's name of a member of the service's requests.
fn param(details: &str) -> Option<String> {
    let name = details.split(['.', '[']).next().unwrap_or_default();
    let known = [
        ("Instruction", "input"),
        ("ClipboardImages", "input"),
        ("InputArtifacts", "input"),
        ("ToolResults", "input"),
        ("SolutionContextText", "instructions"),
        ("AgentContextId", "model"),
        ("Model", "model"),
        ("Store", "store"),
    ];
    known.iter().find(|(own, _)| *own == name).map(|(_, theirs)| (*theirs).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_session_is_a_conflict_to_repeat() {
        let error = ApiError::from(Error::from(ErrorCode::SessionBusy));
        assert_eq!((error.status, error.code.as_deref()), (409, Some("conversation_locked")));
        assert_eq!(error.retry, Some(true));
    }

    #[test]
    fn body_has_the_four_members() {
        let body = ApiError::unsupported("store", "Omit it.").body();
        assert_eq!(body["error"]["type"], "invalid_request_error");
        assert_eq!(
            (&body["error"]["param"], &body["error"]["code"]),
            (&json!("store"), &json!("unsupported_parameter"))
        );
        assert!(body["error"]["message"].as_str().unwrap().contains("'store'"));
    }

    #[test]
    fn members_get_names_of_this_api() {
        let error = Error::new(ErrorCode::MemberInvalid, "m").with_details("ClipboardImages[0].DataBase64");
        assert_eq!(ApiError::from(error).param.as_deref(), Some("input"));
        let error = Error::new(ErrorCode::MemberInvalid, "m").with_details("Model");
        assert_eq!(ApiError::from(error).status, 404);
    }
}
