//! AWS Signature Version 4, over method, URL, content type and body. Other headers, such as those of a trace, are left
//! out, since a proxy may change them.

use std::time::SystemTime;

use agent::model::Error;
use aws_credential_types::Credentials;
use aws_sigv4::http_request::{
    PayloadChecksumKind, SignableBody, SignableRequest, SigningSettings, sign as sign_v4,
};
use aws_sigv4::sign::v4;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Body, Request, Url};

use crate::signing_scope::SigningScope;

/// Adds the signature to the request, as of `time`.
pub(super) fn sign(
    request: &mut Request,
    credentials: &Credentials,
    scope: &SigningScope,
    time: SystemTime,
) -> Result<(), Error> {
    let unsigned = |error: &dyn std::fmt::Display| {
        tracing::error!(error = %error, "{}", contracts::log::REQUEST_NOT_SIGNED);
        Error::Unauthenticated
    };
    let identity = credentials.clone().into();
    let mut settings = SigningSettings::default();
    settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(scope.region())
        .name(scope.service())
        .time(time)
        .settings(settings)
        .build()
        .map_err(|error| unsigned(&error))?
        .into();
    let host = host(request.url());
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let headers = content_type.map(|value| (CONTENT_TYPE.as_str(), value)).into_iter();
    let headers = headers.chain([("host", host.as_str())]);
    let body = SignableBody::Bytes(request.body().and_then(Body::as_bytes).unwrap_or_default());
    let signable = SignableRequest::new(request.method().as_str(), request.url().as_str(), headers, body);
    let signed = sign_v4(signable.map_err(|error| unsigned(&error))?, &params);
    let (instructions, _) = signed.map_err(|error| unsigned(&error))?.into_parts();
    let (headers, _) = instructions.into_parts();
    for header in headers {
        let mut value = HeaderValue::try_from(header.value()).map_err(|error| unsigned(&error))?;
        value.set_sensitive(true);
        request.headers_mut().insert(header.name(), value);
    }
    Ok(())
}

/// Returns the `Host` header that the HTTP client sends.
fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use reqwest::Method;
    use serde::Deserialize;

    use super::*;

    /// The members of the published vector that the test needs.
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Vector {
        signing_date: String,
        region: String,
        service: String,
        credentials: VectorCredentials,
        request: VectorRequest,
        expected: Expected,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct VectorCredentials {
        access_key_id: String,
        secret_access_key: String,
        session_token: String,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct VectorRequest {
        method: String,
        url: String,
        body: String,
        content_type: String,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Expected {
        date: String,
        payload_hash: String,
        authorization: String,
    }

    /// The data of `tests/fixtures/bedrock/v1/sigv4.json` in the repository openai/openai-python.
    #[test]
    fn signature_equals_the_published_vector() {
        let vector: Vector = serde_json::from_str(include_str!("../../tests/fixtures/sigv4.json")).unwrap();
        let VectorCredentials { access_key_id, secret_access_key, session_token } = vector.credentials;
        let credentials =
            Credentials::new(access_key_id, secret_access_key, Some(session_token), None, "test");
        let VectorRequest { method, url, body, content_type } = vector.request;
        let mut request = Request::new(Method::try_from(method.as_str()).unwrap(), url.parse().unwrap());
        request.headers_mut().insert(CONTENT_TYPE, content_type.parse().unwrap());
        request.headers_mut().insert("traceparent", HeaderValue::from_static("00-1-2-01"));
        *request.body_mut() = Some(body.into());
        let date: jiff::Timestamp = vector.signing_date.parse().unwrap();
        let scope = SigningScope::new(&vector.service, &vector.region).unwrap();
        sign(&mut request, &credentials, &scope, date.into()).unwrap();
        let header = |name: &str| request.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("x-amz-date"), vector.expected.date);
        assert_eq!(header("x-amz-content-sha256"), vector.expected.payload_hash);
        assert_eq!(header("authorization"), vector.expected.authorization);
        assert_eq!(header("x-amz-security-token"), "fixture-session-token");
        let shown = format!("{:?}", request.headers());
        assert!(!shown.contains("Signature=") && !shown.contains("fixture-session-token"), "{shown}");
    }

    #[test]
    fn host_has_the_port_unless_it_is_the_default() {
        for (url, expected) in [
            (
                "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1",
                "bedrock-runtime.us-east-1.amazonaws.com",
            ),
            ("http://127.0.0.1:8000/v1", "127.0.0.1:8000"),
            ("https://h:443/v1", "h"),
        ] {
            assert_eq!(host(&url.parse().unwrap()), expected);
        }
    }

    #[test]
    fn request_without_body_and_session_token_is_signed() {
        let mut request = Request::new(Method::DELETE, "http://h/v1/responses/resp_1".parse().unwrap());
        let credentials = Credentials::new("AKID", "secret", None, None, "test");
        let scope = SigningScope::new("bedrock", "us-east-1").unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        sign(&mut request, &credentials, &scope, time).unwrap();
        let authorization = request.headers()["authorization"].to_str().unwrap();
        assert!(authorization.contains("AKID/20231114/us-east-1/bedrock/aws4_request"), "{authorization}");
        assert!(request.headers().get("x-amz-security-token").is_none());
    }
}
