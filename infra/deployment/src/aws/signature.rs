//! Signatures of requests (Signature Version 4).

use std::time::SystemTime;

use aws_config::SdkConfig;
use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use reqwest::{Method, Url};
use sigv4::Signable;

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

    /// Returns the headers of a request with the signature's headers. The signature covers all of them and the host.
    pub(super) async fn sign(
        &self,
        service: &'static str,
        method: &Method,
        url: &str,
        headers: &[(&'static str, String)],
        body: &[u8],
    ) -> Result<Vec<(String, String)>, AwsError> {
        let credentials = self.credentials().await?;
        let parsed = Url::parse(url).map_err(|error| AwsError::Signature(service, error.into()))?;
        let host = sigv4::host_header(parsed.host_str(), parsed.port());
        let covered = headers.iter().map(|(name, value)| (*name, value.as_str()));
        let covered: Vec<_> = covered.chain([("host", host.as_str())]).collect();
        let request = Signable {
            region: &self.region,
            service,
            method: method.as_str(),
            url,
            headers: &covered,
            body,
            has_hash_header: false,
        };
        let signed = sigv4::sign(&request, credentials, SystemTime::now());
        let signed = signed.map_err(|error| AwsError::Signature(service, error.into()))?;
        let added = signed.headers.into_iter().map(|(name, value)| (name.to_owned(), value));
        let sent = headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        Ok(sent.chain(added).collect())
    }
}
