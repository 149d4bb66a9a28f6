//! Verification of AWS Signature Version 4, for a mock of a provider in AWS. It shares no code with the signer: the
//! canonical request is built from the received one, as the published description says.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use sha2::{Digest, Sha256};

use mock_model::refusal::Refusal;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const MAX_BODY_BYTES: usize = 32 << 20;
/// Largest difference between a request's time and ours, as on AWS.
const MAX_SKEW: Duration = Duration::from_secs(15 * 60);
/// Block size of SHA-256, in bytes.
const BLOCK: usize = 64;
/// Headers that a signature has to cover.
const REQUIRED: [&str; 3] = ["host", "x-amz-content-sha256", "x-amz-date"];
/// Headers that a signature has to cover if the request has them.
const COVERED: [&str; 2] = ["content-type", "x-amz-security-token"];

/// The credentials and the scope of the only signatures that a mock model accepts.
#[derive(Clone)]
pub struct SignatureCheck {
    /// Access key id.
    pub access_key: String,
    /// Secret access key.
    pub secret: String,
    /// Session token of temporary credentials. Another one counts as expired.
    pub session_token: Option<String>,
    /// Region in the scope.
    pub region: String,
    /// Service in the scope.
    pub service: String,
}

/// Passes on requests with a valid signature, as if they had a key.
pub(crate) async fn verify(
    State(check): State<Arc<SignatureCheck>>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MAX_BODY_BYTES).await else {
        return refusal("RequestEntityTooLargeException", "The request is too large.").into_response();
    };
    if let Err(refused) = check.check(&parts, &body, SystemTime::now()) {
        return refused.into_response();
    }
    parts.headers.insert(header::AUTHORIZATION, HeaderValue::from_static("Bearer verified"));
    next.run(Request::from_parts(parts, Body::from(body))).await
}

impl SignatureCheck {
    fn check(&self, request: &Parts, body: &[u8], now: SystemTime) -> Result<(), Refusal> {
        let invalid = |message: &str| refusal("InvalidSignatureException", message);
        let authorization = text(request, "authorization").unwrap_or_default();
        let Some((scope, names, signature)) = parse(authorization) else {
            return Err(refusal("MissingAuthenticationTokenException", "The request is not signed."));
        };
        let date = text(request, "x-amz-date").unwrap_or_default();
        let expected_scope = self.scope(date);
        if scope.split('/').next() != Some(self.access_key.as_str()) {
            return Err(refusal("UnrecognizedClientException", "The security token is invalid."));
        }
        if scope != format!("{}/{expected_scope}", self.access_key) {
            return Err(invalid("Credential should be scoped to the correct service and region."));
        }
        let skew =
            time_of(date).map(|time| now.duration_since(time).unwrap_or_else(|ahead| ahead.duration()));
        if skew.is_none_or(|skew| skew > MAX_SKEW) {
            return Err(invalid("Signature expired."));
        }
        let present = COVERED.into_iter().filter(|name| request.headers.contains_key(*name));
        if !REQUIRED.into_iter().chain(present).all(|name| names.split(';').any(|signed| signed == name)) {
            return Err(invalid("A header is not signed."));
        }
        let payload_hash = hex(&Sha256::digest(body));
        if text(request, "x-amz-content-sha256") != Some(payload_hash.as_str()) {
            return Err(invalid("The hash of the body does not match."));
        }
        let canonical = canonical_request(request, names, &payload_hash);
        if self.signature(date, &expected_scope, &canonical) != signature {
            // AWS repeats the canonical request, session token included.
            let message = "The request signature we calculated does not match the signature you provided.";
            return Err(invalid(&format!(
                "{message} The Canonical String for this request should have been '{canonical}'"
            )));
        }
        if text(request, "x-amz-security-token") != self.session_token.as_deref() {
            let message = "The security token included in the request is expired";
            return Err(refusal("ExpiredTokenException", message));
        }
        Ok(())
    }

    fn scope(&self, date: &str) -> String {
        let day = date.get(..8).unwrap_or_default();
        format!("{day}/{}/{}/aws4_request", self.region, self.service)
    }

    fn signature(&self, date: &str, scope: &str, canonical: &str) -> String {
        let to_sign = format!("{ALGORITHM}\n{date}\n{scope}\n{}", hex(&Sha256::digest(canonical)));
        let key = format!("AWS4{}", self.secret).into_bytes();
        let key = scope.split('/').fold(key, |key, part| hmac(&key, part.as_bytes()));
        hex(&hmac(&key, to_sign.as_bytes()))
    }
}

impl std::fmt::Debug for SignatureCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignatureCheck").field("service", &self.service).finish_non_exhaustive()
    }
}

/// Returns credential scope, signed headers and signature of an `Authorization` header.
fn parse(header: &str) -> Option<(&str, &str, &str)> {
    let mut parts = header.strip_prefix(ALGORITHM)?.split(',').map(str::trim);
    let mut part = |name: &str| parts.next()?.strip_prefix(name);
    Some((part("Credential=")?, part("SignedHeaders=")?, part("Signature=")?))
}

fn canonical_request(request: &Parts, names: &str, payload_hash: &str) -> String {
    let mut query: Vec<&str> = request.uri.query().unwrap_or_default().split('&').collect();
    query.sort_unstable();
    let headers = names.split(';').map(|name| {
        let values = request.headers.get_all(name).iter();
        let values: Vec<&str> = values.filter_map(|value| value.to_str().ok()).map(str::trim).collect();
        format!("{name}:{}\n", values.join(","))
    });
    format!(
        "{}\n{}\n{}\n{}\n{names}\n{payload_hash}",
        request.method,
        request.uri.path().replace('%', "%25"),
        query.join("&"),
        headers.collect::<String>()
    )
}

/// Returns a 403 in the layout of the published API.
fn refusal(code: &str, message: &str) -> Refusal {
    let headers = vec![("x-amzn-errortype".to_owned(), format!("{code}:http://internal/"))];
    Refusal { status: 403, param: None, headers, ..Refusal::invalid(code, "", message) }
}

fn text<'a>(request: &'a Parts, name: &str) -> Option<&'a str> {
    request.headers.get(name)?.to_str().ok()
}

/// Parses a time such as `20261124T123456Z`.
fn time_of(text: &str) -> Option<SystemTime> {
    let time = DateTime::strptime("%Y%m%dT%H%M%SZ", text).ok()?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp().into())
}

/// Returns the HMAC of a text with SHA-256.
fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut block = if key.len() > BLOCK { Sha256::digest(key).to_vec() } else { key.to_vec() };
    block.resize(BLOCK, 0);
    let padded = |with: u8| block.iter().map(|byte| byte ^ with).collect::<Vec<u8>>();
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(text).finalize();
    Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// The published vector of openai-python, which the signer is tested with too.
    fn vector() -> (SignatureCheck, Parts, String) {
        let vector = include_str!("../../../shared/llm/tests/fixtures/sigv4.json");
        let vector: Value = serde_json::from_str(vector).unwrap();
        let text = |pointer: &str| vector.pointer(pointer).unwrap().as_str().unwrap().to_owned();
        let check = SignatureCheck {
            access_key: text("/credentials/accessKeyId"),
            secret: text("/credentials/secretAccessKey"),
            session_token: Some(text("/credentials/sessionToken")),
            region: text("/region"),
            service: text("/service"),
        };
        let url = text("/request/url");
        let (host, path) = url.strip_prefix("https://").unwrap().split_once('/').unwrap();
        let request = axum::http::Request::post(format!("/{path}"))
            .header("host", host)
            .header("content-type", text("/request/contentType"))
            .header("x-amz-date", text("/expected/date"))
            .header("x-amz-content-sha256", text("/expected/payloadHash"))
            .header("x-amz-security-token", text("/credentials/sessionToken"))
            .header("authorization", text("/expected/authorization"))
            .body(())
            .unwrap();
        (check, request.into_parts().0, text("/request/body"))
    }

    fn code(checked: Result<(), Refusal>) -> Option<String> {
        checked.err().and_then(|refusal| refusal.code).map(String::from)
    }

    #[test]
    fn published_vector_verifies_and_any_change_is_refused() {
        let (check, request, body) = vector();
        let now = time_of("20250102T030505Z").unwrap();
        let verdict = |check: &SignatureCheck, request: &Parts, body: &str| {
            code(check.check(request, body.as_bytes(), now))
        };
        assert_eq!(verdict(&check, &request, &body), None);
        let invalid = Some("InvalidSignatureException".to_owned());
        assert_eq!(verdict(&check, &request, "{}"), invalid);
        assert_eq!(
            verdict(&SignatureCheck { secret: "other".to_owned(), ..check.clone() }, &request, &body),
            invalid
        );
        assert_eq!(
            verdict(&SignatureCheck { service: "bedrock".to_owned(), ..check.clone() }, &request, &body),
            invalid
        );
        let other = SignatureCheck { access_key: "AKID".to_owned(), ..check.clone() };
        assert_eq!(verdict(&other, &request, &body).as_deref(), Some("UnrecognizedClientException"));
        let renewed = SignatureCheck { session_token: None, ..check.clone() };
        assert_eq!(verdict(&renewed, &request, &body).as_deref(), Some("ExpiredTokenException"));
        let mut elsewhere = request.clone();
        elsewhere.uri = "/v1/responses".parse().unwrap();
        assert_eq!(verdict(&check, &elsewhere, &body), invalid);
        let late = now + MAX_SKEW + MAX_SKEW;
        assert_eq!(code(check.check(&request, body.as_bytes(), late)), invalid);
    }

    #[test]
    fn unsigned_request_is_refused() {
        let (check, mut request, body) = vector();
        request.headers.insert("authorization", HeaderValue::from_static("Bearer sk"));
        let refused = code(check.check(&request, body.as_bytes(), SystemTime::now()));
        assert_eq!(refused.as_deref(), Some("MissingAuthenticationTokenException"));
    }
}
