//! How answers look: always an `InvokeResult`, its outcome repeated by the status.

use std::{convert::Infallible, future::ready, time::Duration};

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use contracts::{Error, ErrorCode, InvokeResult, error::causes, invoke_result::Warning};
use futures::stream;
use http::{
    HeaderValue, StatusCode,
    header::{CONTENT_TYPE, LOCATION, RETRY_AFTER},
};
use serde::Serialize;

/// One HTTP answer.
#[derive(Debug)]
pub struct Reply {
    status: u16,
    body: Bytes,
    retry_after: Option<Duration>,
    location: Option<String>,
}

impl Reply {
    /// A result.
    pub fn ok<T: Serialize>(result: T) -> Self {
        Self::of(&InvokeResult::ok(result))
    }

    /// A result, with what the caller should know about the call.
    pub fn warned<T: Serialize>(result: T, warnings: impl IntoIterator<Item = Warning>) -> Self {
        Self::of(&InvokeResult::ok(result).with_warnings(warnings))
    }

    /// One error.
    #[must_use]
    pub fn error(error: Error) -> Self {
        Self::errors(vec![error])
    }

    /// Everything that was wrong with a request.
    #[must_use]
    pub fn errors(errors: Vec<Error>) -> Self {
        Self::of(&InvokeResult::<()>::errors(errors))
    }

    /// An error whose causes are for the log alone: logged here, once, when the fault is ours (I14).
    #[must_use]
    pub fn refused(
        cause: &(dyn std::error::Error + 'static),
        error: Error,
        retry_after: Option<Duration>,
    ) -> Self {
        if error.system_error() {
            tracing::error!(code = %error.error_code, error = %causes(cause), "request refused");
        }
        Self::error(error).retry_after(retry_after)
    }

    /// A body that is an `InvokeResult` already: a stored one, byte for byte.
    pub fn stored(body: impl Into<Bytes>, error: Option<ErrorCode>) -> Self {
        Self {
            status: error.map_or(200, ErrorCode::http_status),
            body: body.into(),
            retry_after: None,
            location: None,
        }
    }

    /// Sends the client elsewhere.
    #[must_use]
    pub fn redirect(location: String) -> Self {
        Self { status: 302, body: Bytes::new(), retry_after: None, location: Some(location) }
    }

    /// The body alone, for an answer whose status was said before.
    #[must_use]
    pub fn into_body(self) -> Bytes {
        self.body
    }

    /// The same, with when to ask again.
    #[must_use]
    pub fn retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait;
        self
    }

    fn of<T: Serialize>(result: &InvokeResult<T>) -> Self {
        // The contract's types hold strings, numbers and lists alone: they always serialize.
        let body = serde_json::to_vec(result).unwrap_or_default();
        Self { status: result.http_status(), body: body.into(), retry_after: None, location: None }
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let mut response = Response::new(streamed(self.body));
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        if self.location.is_none() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if let Some(wait) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(wait.as_millis().div_ceil(1_000).max(1) as u64));
        }
        if let Some(location) = self.location.and_then(|location| HeaderValue::try_from(location).ok()) {
            headers.insert(LOCATION, location);
        }
        response
    }
}

/// A body of unknown length: every reply goes through the streaming runner, and a streamed reply must not
/// carry a Content-Length.
pub(crate) fn streamed(body: Bytes) -> Body {
    Body::from_stream(stream::once(ready(Ok::<_, Infallible>(body))))
}
