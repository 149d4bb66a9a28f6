//! AWS Signature Version 4 of requests that no SDK sends: those to models on AWS, those of commands to AWS, and those that the
//! local cloud verifies.

use std::time::SystemTime;

pub use aws_credential_types::Credentials;
use aws_sigv4::http_request::{
    PayloadChecksumKind, SignableBody, SignableRequest, SigningSettings, sign as sign_v4,
};
use aws_sigv4::sign::v4;
use aws_smithy_runtime_api::client::identity::Identity;

/// A header of a request: its name in lower case, and its value.
pub type Header<'a> = (&'a str, &'a str);

/// The parts of a request that a signature covers.
#[derive(Debug, Clone, Copy)]
pub struct Signable<'a> {
    /// Region in the credential scope.
    pub region: &'a str,
    /// Name of the service in the credential scope, such as `dynamodb`.
    pub service: &'a str,
    /// HTTP method.
    pub method: &'a str,
    /// URL, or path and query.
    pub url: &'a str,
    /// Headers to cover: exactly these and the date. A proxy may change others. `host` has to be one of them.
    pub headers: &'a [Header<'a>],
    /// Body.
    pub body: &'a [u8],
    /// Set if the hash of the body is a header too, as some services require.
    pub has_hash_header: bool,
}

/// A signature, and the headers that carry it.
#[derive(Debug)]
pub struct Signed {
    /// The signature, in hexadecimal digits.
    pub signature: String,
    /// Headers to add to the request. Their values are secrets until the request expires.
    pub headers: Vec<(&'static str, String)>,
}

/// Error of a request that can't be signed.
#[derive(Debug, thiserror::Error)]
#[error("Can't sign the request: {0}")]
pub struct Error(#[source] Box<dyn std::error::Error + Send + Sync>);

/// Returns the signature of a request as of `time`.
///
/// # Errors
/// Fails if the request has no `host`, or if its URL or a header is invalid.
pub fn sign(request: &Signable<'_>, credentials: Credentials, time: SystemTime) -> Result<Signed, Error> {
    let Signable { region, service, method, url, headers, body, has_hash_header } = *request;
    // The library panics without a host.
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        return Err(Error("it has no Host header".into()));
    }
    let identity = Identity::from(credentials);
    let mut settings = SigningSettings::default();
    settings.excluded_headers = None;
    if has_hash_header {
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
    }
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name(service)
        .time(time)
        .settings(settings)
        .build()
        .map_err(failed)?
        .into();
    let body = SignableBody::Bytes(body);
    let request = SignableRequest::new(method, url, headers.iter().copied(), body).map_err(failed)?;
    let (instructions, signature) = sign_v4(request, &params).map_err(failed)?.into_parts();
    let (headers, _) = instructions.into_parts();
    let headers = headers.into_iter().map(|header| (header.name(), header.value().to_owned())).collect();
    Ok(Signed { signature, headers })
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error(Box::new(error))
}

/// Returns the `Host` header that an HTTP client sends to this host and port. A default port is none.
#[must_use]
pub fn host_header(host: Option<&str>, port: Option<u16>) -> String {
    let host = host.unwrap_or_default();
    port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    const REQUEST: Signable<'_> = Signable {
        region: "eu-west-1",
        service: "secretsmanager",
        method: "POST",
        url: "https://secretsmanager.eu-west-1.amazonaws.com/",
        headers: &[
            ("content-type", "application/x-amz-json-1.1"),
            ("x-amz-target", "secretsmanager.GetSecretValue"),
            ("host", "secretsmanager.eu-west-1.amazonaws.com"),
        ],
        body: br#"{"SecretId":"a"}"#,
        has_hash_header: false,
    };

    fn signed(request: &Signable<'_>) -> Result<Signed, Error> {
        let credentials = Credentials::new("AKIDEXAMPLE", "secret", Some("session".to_owned()), None, "test");
        sign(request, credentials, UNIX_EPOCH + Duration::from_secs(1_795_000_000))
    }

    /// Computed with botocore 1.43.106, the signer of the AWS CLI.
    #[test]
    fn signature_equals_that_of_another_implementation() {
        let signed = signed(&REQUEST).unwrap();
        let value = |name: &str| signed.headers.iter().find(|(added, _)| *added == name).unwrap().1.as_str();
        assert_eq!((value("x-amz-date"), value("x-amz-security-token")), ("20261118T110640Z", "session"));
        assert_eq!(
            value("authorization"),
            concat!(
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261118/eu-west-1/secretsmanager/aws4_request, ",
                "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target, ",
                "Signature=64067aaa7d59598fd82e5f6ed725281fc669a8be9089332aae7727856bcb0aa1",
            )
        );
        assert!(value("authorization").ends_with(&signed.signature));
    }

    #[test]
    fn request_without_host_is_refused() {
        let error = signed(&Signable { headers: &[], ..REQUEST }).unwrap_err();
        assert_eq!(error.to_string(), "Can't sign the request: it has no Host header");
    }

    #[test]
    fn host_has_the_port_unless_it_is_the_default() {
        assert_eq!(host_header(Some("127.0.0.1"), Some(8_000)), "127.0.0.1:8000");
        assert_eq!(host_header(Some("h"), None), "h");
    }
}
