//! How answers look: always an `InvokeResult`, its outcome repeated by the status.

use std::{convert::Infallible, future::ready};

use axum::{
    body::Body,
    extract::FromRequestParts,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use contracts::{Error, ErrorCode, Fingerprint, InvokeResult, error::causes, invoke_result::Warning};
use futures::stream;
use http::{
    HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, LOCATION, RETRY_AFTER, VARY},
    request::Parts,
};
use serde::Serialize;

/// One HTTP answer.
#[derive(Debug)]
pub struct Reply {
    status: u16,
    body: Bytes,
    retry_after_seconds: Option<u64>,
    location: Option<String>,
    kept: Option<Kept>,
}

/// How long a client may keep an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// For ever: nothing changes any more.
    ForEver,
    /// Until it asks again whether it has changed.
    UntilAsked,
}

/// An answer that a client may keep.
#[derive(Debug)]
struct Kept {
    tag: String,
    keep: Keep,
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
    pub fn refused(cause: &(dyn std::error::Error + 'static), error: Error) -> Self {
        if error.system_error() {
            tracing::error!(code = %error.error_code, error = %causes(cause), "request refused");
        }
        Self::error(error)
    }

    /// A body that is an `InvokeResult` already: a stored one, byte for byte.
    pub fn stored(
        body: impl Into<Bytes>,
        error: Option<ErrorCode>,
        retry_after_seconds: Option<u64>,
    ) -> Self {
        Self {
            status: error.map_or(200, ErrorCode::http_status),
            body: body.into(),
            retry_after_seconds,
            location: None,
            kept: None,
        }
    }

    /// Sends the client elsewhere.
    #[must_use]
    pub fn redirect(location: String) -> Self {
        Self {
            status: 302,
            body: Bytes::new(),
            retry_after_seconds: None,
            location: Some(location),
            kept: None,
        }
    }

    /// The body alone, for an answer whose status was said before.
    #[must_use]
    pub fn into_body(self) -> Bytes {
        self.body
    }

    /// The same with its tag, which is the hash of its body; without the body where the client has it already.
    #[must_use]
    pub fn kept(mut self, keep: Keep, IfNoneMatch(had): &IfNoneMatch) -> Self {
        let tag = format!("\"{}\"", Fingerprint::of_bytes(&self.body));
        if had.iter().any(|had| had == "*" || *had == tag) {
            (self.status, self.body) = (304, Bytes::new());
        }
        Self { kept: Some(Kept { tag, keep }), ..self }
    }

    fn of<T: Serialize>(result: &InvokeResult<T>) -> Self {
        // The contract's types hold strings, numbers and lists alone: they always serialize.
        let body = serde_json::to_vec(result).unwrap_or_default();
        Self {
            status: result.http_status(),
            body: body.into(),
            // The first error decides, as it does the status.
            retry_after_seconds: result
                .outcome()
                .err()
                .and_then(|errors| errors.first()?.retry_after_seconds),
            location: None,
            kept: None,
        }
    }
}

/// The tags of what the client has, as `If-None-Match` names them. They are compared weakly (RFC 9110 §13.1.2).
#[derive(Debug, Default)]
pub struct IfNoneMatch(Vec<String>);

impl<S: Send + Sync> FromRequestParts<S> for IfNoneMatch {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let values = parts.headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
        let tags = values.flat_map(|value| value.split(',')).map(str::trim);
        Ok(Self(tags.map(|tag| tag.trim_start_matches("W/").to_owned()).collect()))
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let mut response = Response::new(streamed(self.body));
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        if let Some(Kept { tag, keep }) = self.kept {
            let keep = match keep {
                Keep::ForEver => "private, max-age=31536000, immutable",
                Keep::UntilAsked => "private, no-cache",
            };
            headers.insert(CACHE_CONTROL, HeaderValue::from_static(keep));
            headers.insert(VARY, HeaderValue::from_static("Authorization, Accept"));
            if let Ok(tag) = HeaderValue::try_from(tag) {
                headers.insert(ETAG, tag);
            }
        }
        if self.location.is_none() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if let Some(seconds) = self.retry_after_seconds {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
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
