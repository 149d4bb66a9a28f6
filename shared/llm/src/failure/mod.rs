//! Names what went wrong: from an HTTP status and its error body, or from a failed stream, to the
//! port's [`Error`].
//!
//! Pure. The provider's words are read for the few cases that no code tells and go nowhere else (I14).

use std::time::Duration;

use agent::model::Error;
use serde::Deserialize;

use crate::wire::event::{ErrorObject, IncompleteDetails, StreamError};

/// What an error body may have; a longer one is read no further.
pub const MOST_BODY: usize = 64 << 10;

#[derive(Deserialize)]
struct Body {
    error: ErrorObject,
}

/// The error that a status and its body stand for. `retry_after` is what the headers ask for.
pub fn of_status(status: u16, body: &[u8], retry_after: Option<Duration>) -> Error {
    let error = serde_json::from_slice(body).map_or_else(|_| ErrorObject::default(), |Body { error }| error);
    if let Some(named) = of_object(&error, retry_after) {
        return named;
    }
    match status {
        401 | 403 => Error::Unauthenticated,
        402 => Error::QuotaExceeded,
        404 if error.param.as_deref() == Some("model") => Error::ModelNotFound,
        413 => Error::ContextTooLong,
        429 => Error::RateLimited { retry_after },
        408 | 409 | 500.. => Error::Unavailable,
        _ => Error::Rejected { status },
    }
}

/// The error that `response.failed` stands for.
pub fn of_failed(error: Option<&ErrorObject>) -> Error {
    let named = error.and_then(|error| of_object(error, None));
    named.unwrap_or(Error::Unavailable)
}

/// The error that a bare `error` event stands for.
pub fn of_stream(error: StreamError) -> Error {
    let flat = ErrorObject { code: error.code, kind: None, param: error.param, message: error.message };
    of_failed(Some(&error.error.unwrap_or(flat)))
}

/// The error that `response.incomplete` stands for.
pub fn of_incomplete(details: Option<&IncompleteDetails>) -> Error {
    match details.and_then(|details| details.reason.as_deref()) {
        Some("content_filter") => Error::ContentFiltered,
        _ => Error::Incomplete,
    }
}

/// What the error says of itself, in the order of how much each member tells.
fn of_object(error: &ErrorObject, retry_after: Option<Duration>) -> Option<Error> {
    let code = error.code.as_deref().and_then(|code| of_code(code, retry_after));
    let kind = || error.kind.as_deref().and_then(|kind| of_code(kind, retry_after));
    code.or_else(|| of_param(error)).or_else(kind).or_else(|| of_words(error))
}

fn of_code(code: &str, retry_after: Option<Duration>) -> Option<Error> {
    Some(match code {
        "insufficient_quota" | "billing_hard_limit_reached" | "billing_not_active" => Error::QuotaExceeded,
        "rate_limit_exceeded" | "rate_limit_error" | "too_many_requests" => {
            Error::RateLimited { retry_after }
        }
        "context_length_exceeded" | "string_above_max_length" | "request_too_large" => Error::ContextTooLong,
        "content_filter" | "content_policy_violation" | "invalid_prompt" => Error::ContentFiltered,
        "previous_response_not_found" => Error::ChainLost,
        "model_not_found" | "DeploymentNotFound" => Error::ModelNotFound,
        "invalid_api_key" | "authentication_error" | "permission_error" => Error::Unauthenticated,
        "server_error" | "internal_error" | "overloaded_error" | "server_overloaded" => Error::Unavailable,
        _ => return None,
    })
}

/// Whatever a provider has against the previous response, the chain can't go on from it: it is unknown,
/// expired, or may not be used by this account.
fn of_param(error: &ErrorObject) -> Option<Error> {
    match error.param.as_deref() {
        Some("previous_response_id") => Some(Error::ChainLost),
        _ => None,
    }
}

/// Some compatible servers tell a full context in words alone.
fn of_words(error: &ErrorObject) -> Option<Error> {
    let words = error.message.as_deref()?.to_ascii_lowercase();
    let too_long = ["maximum context length", "context window", "context length"];
    let says_so = too_long.iter().any(|phrase| words.contains(phrase));
    says_so.then_some(Error::ContextTooLong)
}

#[cfg(test)]
mod tests;
