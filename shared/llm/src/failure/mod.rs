//! Classifies failures: maps an HTTP status and its error body, or a failed stream, to the port's [`Error`].
//!
//! Pure. The order of precedence is: code, parameter, message, type, status. A message is only compared with known
//! phrases and goes nowhere else (I14).

use std::time::Duration;

use agent::model::Error;

use crate::error_object::ErrorObject;

mod code;
mod message;
mod parameter;

/// The most bytes of an error body that are read.
pub const MAX_BODY_BYTES: usize = 64 << 10;

/// Parameters with an image or a file.
const ATTACHMENT_PARAMS: [&str; 4] = ["image_url", "file_data", "filename", "file_url"];

/// A response with an error status.
#[derive(Debug, Clone, Copy)]
pub struct FailedResponse<'a> {
    /// The HTTP status.
    pub status: u16,
    /// The error in the body.
    pub error: &'a ErrorObject,
    /// The delay that the headers ask for.
    pub retry_after: Option<Duration>,
    /// True if the request continued from a stored response.
    pub chained: bool,
}

/// Classifies an error response. A rejected chained request counts as a lost chain unless the error names another cause,
/// such as a parameter. Stateless servers reject chains in many ways, and resending the full history helps with all of
/// them.
pub fn classify_response(response: FailedResponse<'_>) -> Error {
    let FailedResponse { status, error, retry_after, chained } = response;
    let error_kind = match status {
        401 | 402 | 408 | 409 | 429 => classify_code_or_type(error, retry_after),
        403 if error.moderated => Some(Error::ContentFiltered),
        _ => classify_error(error, retry_after),
    };
    match error_kind.unwrap_or_else(|| code::classify_status(status, retry_after)) {
        // An unchained request has no chain to lose.
        Error::ChainLost if !chained => Error::Rejected { status },
        Error::Rejected { .. } if status == 404 && error.param.as_deref() == Some("model") => {
            Error::ModelNotFound
        }
        Error::Rejected { .. } if (400..500).contains(&status) && parameter::is_named(error) => {
            Error::ParameterRejected { status }
        }
        Error::Rejected { .. } if chained && (400..500).contains(&status) => Error::ChainLost,
        Error::Rejected { .. } => Error::Rejected { status },
        other => other,
    }
}

/// Returns the parameter that an error refuses, whatever its value.
pub(crate) fn refused_parameter(error: &ErrorObject) -> Option<String> {
    parameter::refused(error)
}

/// Classifies a `response.failed` or a bare `error` event.
pub fn classify_failed(error: Option<&ErrorObject>) -> Error {
    let classified = error.and_then(|error| classify_error(error, None));
    classified.unwrap_or(Error::UNAVAILABLE)
}

/// Classifies a response that stopped early, by its reason.
pub fn classify_incomplete(reason: Option<&str>) -> Error {
    match reason {
        Some("content_filter") => Error::ContentFiltered,
        _ => Error::Incomplete,
    }
}

/// Classifies an error by its members, the most specific first.
fn classify_error(error: &ErrorObject, retry_after: Option<Duration>) -> Option<Error> {
    let code = error.code.as_deref().and_then(|code| code::classify_code(code, retry_after));
    // Only the conversation can be shortened, and not the id of a call or the name of a tool.
    let is_too_long = error.code.as_deref() == Some("string_above_max_length");
    let too_long = || (is_too_long && parameter::is_content(error)).then_some(Error::ContextTooLong);
    let message = || error.message.as_deref().and_then(message::classify);
    let kind = || error.kind.as_deref().and_then(|kind| code::classify_code(kind, retry_after));
    let names_unknown_model = |message: &str| message::names_unknown_model(message, error.kind.as_deref());
    let model = || error.message.as_deref().is_some_and(names_unknown_model).then_some(Error::ModelNotFound);
    // Some servers use `invalid_prompt` for any rejected request, OpenAI for policy violations. The message decides; if
    // it doesn't, the request was rejected.
    let prompt =
        || (error.code.as_deref() == Some("invalid_prompt")).then_some(Error::Rejected { status: 400 });
    // AWS's name for a rejected request, which may also come within a stream.
    let is_validation = |kind: &str| kind.eq_ignore_ascii_case("ValidationException");
    let validation =
        || error.kind.as_deref().is_some_and(is_validation).then_some(Error::Rejected { status: 400 });
    code.or_else(|| classify_param(error))
        .or_else(too_long)
        .or_else(message)
        .or_else(kind)
        .or_else(model)
        .or_else(prompt)
        .or_else(validation)
}

/// Classifies an error by its code and type alone, for statuses whose messages are about limits and not the input.
fn classify_code_or_type(error: &ErrorObject, retry_after: Option<Duration>) -> Option<Error> {
    let names = [&error.code, &error.kind].into_iter().flatten();
    names.filter_map(|name| code::classify_code(name, retry_after)).next()
}

/// Classifies an error by its parameter. Any complaint about the previous response means a lost chain: it is unknown,
/// expired, or belongs to another account.
fn classify_param(error: &ErrorObject) -> Option<Error> {
    let param = error.param.as_deref()?;
    match param {
        "previous_response_id" | "response_id" => Some(Error::ChainLost),
        _ => ATTACHMENT_PARAMS.iter().any(|name| param.ends_with(name)).then_some(Error::AttachmentRefused),
    }
}

#[cfg(test)]
mod tests;
