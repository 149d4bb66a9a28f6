//! Signatures of requests (Signature Version 4).

use std::time::SystemTime;

use aws_config::SdkConfig;
use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use aws_smithy_runtime_api::client::identity::Identity;
use reqwest::{Method, Url};

use crate::aws::AwsError;

type Source = Box<dyn std::error::Error + Send + Sync>;

/// The signer of requests in one region.
#[derive(Debug)]
pub(super) struct Signer {
    region: String,
    credentials: SharedCredentialsProvider,
}

impl Signer {
    /// Reads region and credentials of a configuration.
    pub(super) async fn load(config: &SdkConfig) -> Result<Self, AwsError> {
        let region = config.region().ok_or(AwsError::NoRegion)?.to_string();
        let credentials =
            config.credentials_provider().ok_or_else(|| AwsError::NoCredentials("none are set".into()))?;
        let signer = Self { region, credentials };
        // A missing sign-in shows before the first request.
        signer.credentials().await?;
        Ok(signer)
    }

    pub(super) fn region(&self) -> &str {
        &self.region
    }

    async fn credentials(&self) -> Result<Credentials, AwsError> {
        let provided = self.credentials.provide_credentials().await;
        provided.map_err(|error| AwsError::NoCredentials(error.into()))
    }

    /// Returns the headers of a request, those of the signature included.
    pub(super) async fn sign(
        &self,
        service: &'static str,
        method: &Method,
        url: &str,
        headers: &[(&'static str, String)],
        body: &[u8],
    ) -> Result<Vec<(String, String)>, AwsError> {
        let request = Unsigned { service, method, url, headers, body };
        let credentials = self.credentials().await?;
        let added = request.signature(&self.region, credentials, SystemTime::now());
        let added = added.map_err(|error| AwsError::Signature(service, error))?;
        let sent = headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        Ok(sent.chain(added).collect())
    }
}

/// A request before it is signed.
struct Unsigned<'a> {
    service: &'static str,
    method: &'a Method,
    url: &'a str,
    headers: &'a [(&'static str, String)],
    body: &'a [u8],
}

impl Unsigned<'_> {
    /// Returns the headers of the signature as of `time`. It covers all headers of the request, and its host.
    fn signature(
        &self,
        region: &str,
        credentials: Credentials,
        time: SystemTime,
    ) -> Result<Vec<(String, String)>, Source> {
        let identity = Identity::from(credentials);
        let url = Url::parse(self.url)?;
        let host = match (url.host_str().unwrap_or_default(), url.port()) {
            (host, Some(port)) => format!("{host}:{port}"),
            (host, None) => host.to_owned(),
        };
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(region)
            .name(self.service)
            .time(time)
            .settings(SigningSettings::default())
            .build()?
            .into();
        let headers = self.headers.iter().map(|(name, value)| (*name, value.as_str()));
        let headers = headers.chain(std::iter::once(("host", host.as_str())));
        let body = SignableBody::Bytes(self.body);
        let request = SignableRequest::new(self.method.as_str(), self.url, headers, body)?;
        let (instructions, _) = sign(request, &params)?.into_parts();
        let (added, _) = instructions.into_parts();
        Ok(added.into_iter().map(|header| (header.name().to_owned(), header.value().to_owned())).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    /// Computed with botocore 1.43.106, the signer of the AWS CLI.
    #[test]
    fn signature_equals_that_of_another_implementation() {
        let headers = [
            ("content-type", "application/x-amz-json-1.1".to_owned()),
            ("x-amz-target", "secretsmanager.GetSecretValue".to_owned()),
        ];
        let request = Unsigned {
            service: "secretsmanager",
            method: &Method::POST,
            url: "https://secretsmanager.eu-west-1.amazonaws.com/",
            headers: &headers,
            body: br#"{"SecretId":"a"}"#,
        };
        let credentials = Credentials::new("AKIDEXAMPLE", "secret", Some("session".to_owned()), None, "test");
        let time = UNIX_EPOCH + Duration::from_secs(1_795_000_000);
        let added = request.signature("eu-west-1", credentials, time).unwrap();
        let value = |name: &str| added.iter().find(|(added, _)| added == name).unwrap().1.clone();
        assert_eq!(
            (value("x-amz-date").as_str(), value("x-amz-security-token").as_str()),
            ("20261118T110640Z", "session")
        );
        assert_eq!(
            value("authorization"),
            concat!(
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261118/eu-west-1/secretsmanager/aws4_request, ",
                "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target, ",
                "Signature=64067aaa7d59598fd82e5f6ed725281fc669a8be9089332aae7727856bcb0aa1",
            )
        );
    }
}
