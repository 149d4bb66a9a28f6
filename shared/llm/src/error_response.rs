//! Error responses: the status, the retry headers and the start of the body.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::Response;
use tokio::time::timeout;

use crate::compression::Body;
use crate::error_info::ErrorInfo;
use crate::error_object::ErrorObject;
use crate::failure::{self, FailedResponse};
use crate::omissions::Hint;
use crate::retry::FailedAttempt;
use crate::retry::headers::Advice;

/// The time limit for reading an error body. On timeout, the error is classified without it.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// An HTTP response with an error status.
#[derive(Debug)]
pub(crate) struct ErrorResponse {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The start of the body.
    pub(crate) body: Vec<u8>,
    advice: Advice,
    info: ErrorInfo,
}

impl ErrorResponse {
    /// Reads the response, up to the size and time limits of an error body.
    pub(crate) async fn read(response: Response) -> Self {
        let status = response.status().as_u16();
        let advice = Advice::read(response.headers(), Timestamp::now());
        let info = ErrorInfo::from_headers(response.headers());
        let body = timeout(BODY_TIMEOUT, error_body(response)).await.unwrap_or_default();
        Self { status, body, advice, info }
    }

    /// Returns the one of these settings that the response refuses.
    pub(crate) fn refused_hint(&self, sent: &[Hint]) -> Option<Hint> {
        if !matches!(self.status, 400 | 422) {
            return None;
        }
        let error = ErrorObject::from_body(&self.body);
        let hint = failure::refused_parameter(&error).and_then(|name| Hint::of_parameter(&name));
        // Mistral's API names it in a list of faults.
        let names_usage = || memchr::memmem::find(&self.body, b"stream_options").map(|_| Hint::StreamUsage);
        hint.or_else(names_usage).filter(|hint| sent.contains(hint))
    }

    /// Converts the response into the failed attempt. `chained` is true if the request continued from a stored response.
    pub(crate) fn into_attempt(self, prior_attempts: u32, chained: bool) -> FailedAttempt {
        let Self { status, body, advice, info } = self;
        let mut details = ErrorObject::from_body(&body);
        // The APIs of AWS name the error in a header.
        if details.code.is_none() && details.kind.is_none() {
            details.kind = info.code.clone();
        }
        let retry_after = advice.retry_after;
        let error =
            failure::classify_response(FailedResponse { status, error: &details, retry_after, chained });
        FailedAttempt {
            status: Some(status),
            advice,
            info: info.with_error(&details),
            message: Some(details.message.or_else(|| plain_text(&body)).unwrap_or_default()),
            ..FailedAttempt::without_response(prior_attempts, error)
        }
    }
}

/// Returns a body that is neither JSON nor a page, such as the plain text of a server without this route.
fn plain_text(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok().map(str::trim);
    text.filter(|text| !text.starts_with(['{', '[', '<'])).map(str::to_owned)
}

/// Reads the start of the body. Ignores a broken connection.
async fn error_body(mut response: Response) -> Vec<u8> {
    let mut body = Body::new(response.headers(), failure::MAX_BODY_BYTES);
    while let Ok(Some(chunk)) = response.chunk().await {
        if body.push(&chunk).is_err() {
            break;
        }
    }
    body.finish()
}
