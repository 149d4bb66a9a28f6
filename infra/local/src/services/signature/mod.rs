//! Verification of AWS signatures (SigV4) for DynamoDB and SQS. S3 has the verification of its library.
//!
//! The signature is computed again from the received request and compared in constant time.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::json;
use sigv4::{Header, Signable};

use crate::account::REGION;
use crate::service_keys::ServiceKeys;

/// Largest difference between a request's time and ours, as on AWS.
const MAX_SKEW: Duration = Duration::from_secs(15 * 60);
/// Algorithm of the signatures.
const ALGORITHM: &str = "AWS4-HMAC-SHA256 ";
/// Header with the time of the signature.
const DATE: &str = "x-amz-date";
/// Headers that a signature has to cover.
const REQUIRED: [&str; 3] = ["host", DATE, "x-amz-target"];

/// Verifies the requests to one service.
#[derive(Debug)]
pub(super) struct Verifier {
    pub(super) keys: ServiceKeys,
    /// Name of the service in the credential scope.
    pub(super) service: &'static str,
    /// Largest request body, in bytes.
    pub(super) max_bytes: usize,
}

/// A rejected request. Its name is the error code, as on AWS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Rejection {
    #[error("Request is missing an AWS signature (SigV4).")]
    MissingAuthenticationToken,
    #[error("The Authorization header is not an AWS signature (SigV4) for this service.")]
    IncompleteSignature,
    #[error("The access key is unknown.")]
    UnrecognizedClient,
    #[error("The signature does not match the request.")]
    InvalidSignature,
    #[error("The signature has expired, or its time lies in the future.")]
    SignatureExpired,
    #[error("The request body is too large.")]
    RequestEntityTooLarge,
}

/// Passes on requests with a valid signature.
pub(super) async fn verify(State(verifier): State<Arc<Verifier>>, request: Request, next: Next) -> Response {
    match verifier.verified(request).await {
        Ok(request) => next.run(request).await,
        Err(rejection) => rejection.into_response(),
    }
}

impl Verifier {
    async fn verified(&self, request: Request) -> Result<Request, Rejection> {
        let (parts, body) = request.into_parts();
        // Nothing is read for a stranger.
        let authorization = self.authorization(&parts)?;
        let body = to_bytes(body, self.max_bytes).await.map_err(|_| Rejection::RequestEntityTooLarge)?;
        self.check(&authorization, &parts, &body, SystemTime::now())?;
        Ok(Request::from_parts(parts, Body::from(body)))
    }

    /// Parses the Authorization header and checks its credential scope.
    fn authorization<'a>(&self, request: &'a Parts) -> Result<Authorization<'a>, Rejection> {
        let header =
            request.headers.get(header::AUTHORIZATION).ok_or(Rejection::MissingAuthenticationToken)?;
        let authorization = header.to_str().ok().and_then(Authorization::parse);
        let authorization = authorization.ok_or(Rejection::IncompleteSignature)?;
        if !ServiceKeys::access_keys().any(|key| key == authorization.access_key) {
            return Err(Rejection::UnrecognizedClient);
        }
        let scope = format!("{REGION}/{}/aws4_request", self.service);
        let is_complete = REQUIRED.iter().all(|name| authorization.signed_headers.contains(name));
        if authorization.scope != scope || !is_complete {
            return Err(Rejection::IncompleteSignature);
        }
        Ok(authorization)
    }

    fn check(
        &self,
        authorization: &Authorization<'_>,
        request: &Parts,
        body: &[u8],
        now: SystemTime,
    ) -> Result<(), Rejection> {
        let time = text(request, DATE).and_then(parse_time).ok_or(Rejection::IncompleteSignature)?;
        let skew = now.duration_since(time).unwrap_or_else(|ahead| ahead.duration());
        if skew > MAX_SKEW {
            return Err(Rejection::SignatureExpired);
        }
        let uri = request.uri.path_and_query().map_or("/", |path| path.as_str());
        let signed = Signable {
            region: REGION,
            service: self.service,
            method: request.method.as_str(),
            url: uri,
            headers: &signed_headers(request, &authorization.signed_headers)?,
            body,
            has_hash_header: false,
        };
        let credentials = self.keys.credentials_of(authorization.access_key);
        let expected = sigv4::sign(&signed, credentials, time).map_err(|_| Rejection::IncompleteSignature)?;
        let (expected, received) = (expected.signature.as_bytes(), authorization.signature.as_bytes());
        aws_lc_rs::constant_time::verify_slices_are_equal(expected, received)
            .map_err(|_| Rejection::InvalidSignature)
    }
}

/// Returns the values of the signed headers, without the date, which the signature adds itself.
fn signed_headers<'a>(request: &'a Parts, names: &[&'a str]) -> Result<Vec<Header<'a>>, Rejection> {
    let mut headers = Vec::with_capacity(names.len());
    for name in names.iter().filter(|name| **name != DATE) {
        for value in request.headers.get_all(*name) {
            headers.push((*name, value.to_str().map_err(|_| Rejection::InvalidSignature)?));
        }
    }
    Ok(headers)
}

fn text<'a>(request: &'a Parts, name: &str) -> Option<&'a str> {
    request.headers.get(name)?.to_str().ok()
}

/// Parses a time such as `20261124T123456Z`.
fn parse_time(text: &str) -> Option<SystemTime> {
    let time = DateTime::strptime("%Y%m%dT%H%M%SZ", text).ok()?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp().into())
}

/// A parsed Authorization header.
struct Authorization<'a> {
    access_key: &'a str,
    /// Region, service and terminator of the credential scope.
    scope: &'a str,
    signed_headers: Vec<&'a str>,
    signature: &'a str,
}

impl<'a> Authorization<'a> {
    fn parse(header: &'a str) -> Option<Self> {
        let members = header.strip_prefix(ALGORITHM)?.split(',').map(str::trim);
        let (mut credential, mut signed_headers, mut signature) = (None, None, None);
        for (name, value) in members.filter_map(|member| member.split_once('=')) {
            match name {
                "Credential" => credential = Some(value),
                "SignedHeaders" => signed_headers = Some(value.split(';').collect()),
                "Signature" => signature = Some(value),
                _ => return None,
            }
        }
        let (access_key, scope) = credential?.split_once('/')?;
        let (_date, scope) = scope.split_once('/')?;
        Some(Self { access_key, scope, signed_headers: signed_headers?, signature: signature? })
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        let status = match self {
            Self::RequestEntityTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            _ => StatusCode::FORBIDDEN,
        };
        let body = json!({
            "__type": format!("com.amazon.coral.service#{self:?}Exception"), "message": self.to_string(),
        });
        (status, [(header::CONTENT_TYPE, "application/x-amz-json-1.0")], body.to_string()).into_response()
    }
}

#[cfg(test)]
mod tests;
