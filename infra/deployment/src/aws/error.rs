//! Errors of requests to AWS.

use serde::Deserialize;

use crate::aws::xml;
use crate::http::Unreachable;

type Source = Box<dyn std::error::Error + Send + Sync>;

/// A failure of a request to AWS.
#[derive(Debug, thiserror::Error)]
pub enum AwsError {
    /// Neither the environment nor the profile names a region.
    #[error("No AWS region is set. Set AWS_REGION, or a region in the profile of AWS_PROFILE.")]
    NoRegion,
    /// There are no credentials, or they can't be had.
    #[error("No AWS credentials found. Set AWS_PROFILE, or sign in with `aws sso login`.")]
    NoCredentials(#[source] Source),
    /// The request can't be signed.
    #[error("Can't sign the request to {0}")]
    Signature(&'static str, #[source] Source),
    /// The service can't be reached.
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    /// The service refused the request.
    #[error("{action} failed: {message} ({code})")]
    Refused {
        /// The requested action.
        action: String,
        /// The error code of the service.
        code: String,
        /// The message of the service.
        message: String,
    },
    /// The response isn't what the service documents.
    #[error("Can't read the response of {0} to {1}")]
    Unreadable(&'static str, String, #[source] Source),
}

/// An error in the JSON protocols.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct JsonError {
    #[serde(rename = "__type")]
    kind: Option<String>,
    #[serde(alias = "Message")]
    message: Option<String>,
}

/// An error in the query protocol.
#[derive(Debug, Default, Deserialize)]
struct XmlError {
    #[serde(rename = "Error")]
    error: XmlErrorBody,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct XmlErrorBody {
    code: String,
    message: String,
}

impl AwsError {
    pub(crate) fn unreadable(service: &'static str, action: &str, source: impl Into<Source>) -> Self {
        Self::Unreadable(service, action.to_owned(), source.into())
    }

    /// Reads the error of a response. `kind` is the header with the error's code.
    pub(crate) fn refused(service: &str, action: &str, status: u16, kind: Option<&str>, text: &str) -> Self {
        let (code, message) = code_and_message(kind, text);
        let code = code.unwrap_or_else(|| format!("status {status}"));
        let message = message.unwrap_or_else(|| format!("{service} refused the request"));
        let message = message.trim_end_matches('.').to_owned();
        Self::Refused { action: action.to_owned(), code, message }
    }

    /// The error code, if the service refused the request.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { code, .. } => Some(code),
            _ => None,
        }
    }

    /// The message of the service, if it refused the request.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Refused { message, .. } => Some(message),
            _ => None,
        }
    }

    /// True if the credentials lack a permission.
    #[must_use]
    pub fn is_access_denied(&self) -> bool {
        self.code().is_some_and(|code| code.starts_with("AccessDenied") || code == "UnauthorizedOperation")
    }
}

fn code_and_message(kind: Option<&str>, text: &str) -> (Option<String>, Option<String>) {
    if let Ok(XmlError { error }) = xml::parse::<XmlError>(text) {
        return (Some(error.code), Some(error.message));
    }
    let error: JsonError = serde_json::from_str(text).unwrap_or_default();
    // `prefix#Code`, or `Code:http://…` in the header.
    let code = kind.map(str::to_owned).or(error.kind);
    let code = code.map(|code| {
        let name = code.rsplit('#').next().unwrap_or_default();
        name.split(':').next().unwrap_or_default().to_owned()
    });
    (code, error.message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_every_protocol_have_code_and_message() {
        let xml = "<ErrorResponse xmlns=\"http://cloudformation.amazonaws.com/doc/2010-05-15/\"><Error><Type>Sender</Type>\
                   <Code>ValidationError</Code><Message>Stack with id x does not exist</Message></Error></ErrorResponse>";
        let json = r#"{"__type":"com.amazonaws#NotAuthorizedException","message":"Incorrect username or password."}"#;
        for (kind, text, shown) in [
            (None, xml, "A failed: Stack with id x does not exist (ValidationError)"),
            (None, json, "A failed: Incorrect username or password (NotAuthorizedException)"),
            (
                Some("AccessDeniedException:http://x/"),
                r#"{"Message":"No."}"#,
                "A failed: No (AccessDeniedException)",
            ),
            (None, "<html>", "A failed: s refused the request (status 403)"),
        ] {
            assert_eq!(AwsError::refused("s", "A", 403, kind, text).to_string(), shown);
        }
    }
}
