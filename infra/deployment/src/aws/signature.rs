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
        let failed = |error: Box<dyn std::error::Error + Send + Sync>| AwsError::Signature(service, error);
        let identity = Identity::from(self.credentials().await?);
        let parsed = Url::parse(url).map_err(|error| failed(error.into()))?;
        let host = match (parsed.host_str().unwrap_or_default(), parsed.port()) {
            (host, Some(port)) => format!("{host}:{port}"),
            (host, None) => host.to_owned(),
        };
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(service)
            .time(SystemTime::now())
            .settings(SigningSettings::default())
            .build()
            .map_err(|error| failed(error.into()))?
            .into();
        let signed = headers.iter().map(|(name, value)| (*name, value.as_str()));
        let signed = signed.chain(std::iter::once(("host", host.as_str())));
        let request = SignableRequest::new(method.as_str(), url, signed, SignableBody::Bytes(body))
            .map_err(|error| failed(error.into()))?;
        let output = sign(request, &params).map_err(|error| failed(error.into()))?;
        let (instructions, _) = output.into_parts();
        let (added, _) = instructions.into_parts();
        let sent = headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        let added = added.into_iter().map(|header| (header.name().to_owned(), header.value().to_owned()));
        Ok(sent.chain(added).collect())
    }
}
