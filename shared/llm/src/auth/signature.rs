//! Signatures of requests to providers in AWS, over method, URL, content type and body. Other headers, such as trace
//! headers, are left out, since a proxy may change them.

use std::time::SystemTime;

use agent::model::Error;
use aws_credential_types::Credentials;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Body, Request};
use sigv4::Signable;

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
    let host = sigv4::host_header(request.url().host_str(), request.url().port());
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let headers = content_type.map(|value| (CONTENT_TYPE.as_str(), value)).into_iter();
    let headers: Vec<_> = headers.chain([("host", host.as_str())]).collect();
    let signable = Signable {
        region: scope.region(),
        service: scope.service(),
        method: request.method().as_str(),
        url: request.url().as_str(),
        headers: &headers,
        body: request.body().and_then(Body::as_bytes).unwrap_or_default(),
        has_hash_header: true,
    };
    let signed = sigv4::sign(&signable, credentials.clone(), time).map_err(|error| unsigned(&error))?;
    for (name, value) in signed.headers {
        let mut value = HeaderValue::try_from(value).map_err(|error| unsigned(&error))?;
        value.set_sensitive(true);
        request.headers_mut().insert(name, value);
    }
    Ok(())
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
