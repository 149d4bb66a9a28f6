//! JSON responses: always an `InvokeResult`, whose outcome the HTTP status repeats.

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
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, LOCATION, RETRY_AFTER, VARY},
    request::Parts,
};
use serde::Serialize;

/// An HTTP response.
#[derive(Debug)]
pub struct Reply {
    status: u16,
    body: Bytes,
    retry_after_seconds: Option<u64>,
    location: Option<String>,
    cache: Option<CacheHeaders>,
}

/// The caching that a response allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CachePolicy {
    /// Cacheable forever: the content never changes.
    Immutable,
    /// Cacheable, but the client must revalidate it before each use.
    Revalidate,
}

/// The cache headers of a response.
#[derive(Debug)]
struct CacheHeaders {
    tag: String,
    policy: CachePolicy,
}

impl Reply {
    /// Creates a successful response.
    pub fn ok<T: Serialize>(result: T) -> Self {
        Self::from_result(&InvokeResult::ok(result))
    }

    /// Creates a successful response with warnings about the call.
    pub fn ok_with_warnings<T: Serialize>(result: T, warnings: impl IntoIterator<Item = Warning>) -> Self {
        Self::from_result(&InvokeResult::ok(result).with_warnings(warnings))
    }

    /// Creates a response with one error.
    #[must_use]
    pub fn error(error: Error) -> Self {
        Self::errors(vec![error])
    }

    /// Creates a response with every error in a request.
    #[must_use]
    pub fn errors(errors: Vec<Error>) -> Self {
        Self::from_result(&InvokeResult::<()>::errors(errors))
    }

    /// Creates an error response and logs its cause if the service is at fault. The cause never reaches the client
    /// (I14).
    #[must_use]
    pub fn error_with_cause(cause: &(dyn std::error::Error + 'static), error: Error) -> Self {
        Self::errors_with_cause(cause, vec![error])
    }

    /// Does the same with every error in a request.
    #[must_use]
    pub fn errors_with_cause(cause: &(dyn std::error::Error + 'static), errors: Vec<Error>) -> Self {
        if let Some(error) = errors.iter().find(|error| error.system_error()) {
            tracing::error!(code = %error.error_code, error = %causes(cause), "{}", contracts::log::REQUEST_FAILED);
        }
        Self::errors(errors)
    }

    /// Creates a response from a stored `InvokeResult`, byte for byte.
    pub fn from_stored(
        body: impl Into<Bytes>,
        error: Option<ErrorCode>,
        retry_after_seconds: Option<u64>,
    ) -> Self {
        Self {
            status: error.map_or(200, ErrorCode::http_status),
            body: body.into(),
            retry_after_seconds,
            location: None,
            cache: None,
        }
    }

    /// Creates a redirect.
    #[must_use]
    pub fn redirect(location: String) -> Self {
        Self {
            status: 302,
            body: Bytes::new(),
            retry_after_seconds: None,
            location: Some(location),
            cache: None,
        }
    }

    /// Returns the body alone, for a response whose status has already been sent.
    #[must_use]
    pub fn into_body(self) -> Bytes {
        self.body
    }

    /// Adds an `ETag`, which is the hash of the body. Drops the body and returns 304 if the client already has it.
    #[must_use]
    pub fn with_cache_headers(self, policy: CachePolicy, had: &IfNoneMatch) -> Self {
        let tag = Fingerprint::hash_bytes(&self.body).to_string();
        self.with_entity_tag(&tag, policy, had)
    }

    /// Does the same with another `ETag`, which is given without quotes.
    #[must_use]
    pub fn with_entity_tag(mut self, tag: &str, policy: CachePolicy, IfNoneMatch(had): &IfNoneMatch) -> Self {
        let tag = format!("\"{tag}\"");
        if had.iter().any(|had| had == "*" || *had == tag) {
            (self.status, self.body) = (304, Bytes::new());
        }
        Self { cache: Some(CacheHeaders { tag, policy }), ..self }
    }

    fn from_result<T: Serialize>(result: &InvokeResult<T>) -> Self {
        // The contract's types hold only strings, numbers and lists, so they always serialize.
        let body = serde_json::to_vec(result).unwrap_or_default();
        Self {
            status: result.http_status(),
            body: body.into(),
            // The first error decides this, as it decides the status.
            retry_after_seconds: result
                .outcome()
                .err()
                .and_then(|errors| errors.first()?.retry_after_seconds),
            location: None,
            cache: None,
        }
    }
}

/// Returns the entity tags of a header, without the mark of weak ones. A tag that is not UTF-8 stays one, which equals no
/// other: without it, a conditional write would be unconditional.
fn entity_tags(headers: &HeaderMap, name: HeaderName) -> Vec<String> {
    let values = headers.get_all(name).iter();
    let tags = values.flat_map(|value| value.as_bytes().split(|byte| *byte == b',')).map(<[u8]>::trim_ascii);
    let tags = tags.filter(|tag| !tag.is_empty()).map(String::from_utf8_lossy);
    tags.map(|tag| tag.trim_start_matches("W/").to_owned()).collect()
}

/// The entity tags in `If-None-Match`. They are compared weakly (RFC 9110 §13.1.2).
#[derive(Debug, Default)]
pub struct IfNoneMatch(Vec<String>);

impl<S: Send + Sync> FromRequestParts<S> for IfNoneMatch {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(entity_tags(&parts.headers, IF_NONE_MATCH)))
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let mut response = Response::new(streaming_body(self.body));
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        if let Some(CacheHeaders { tag, policy }) = self.cache {
            let policy = match policy {
                CachePolicy::Immutable => "private, max-age=31536000, immutable",
                CachePolicy::Revalidate => "private, no-cache",
            };
            headers.insert(CACHE_CONTROL, HeaderValue::from_static(policy));
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

/// Returns a body of unknown length. Every response goes through the streaming runner, which must not send a
/// `Content-Length`.
pub(crate) fn streaming_body(body: Bytes) -> Body {
    Body::from_stream(stream::once(ready(Ok::<_, Infallible>(body))))
}
