//! AWS credentials of a developer, for requests to model providers on a local cloud. Its functions have credentials of
//! their own for its services, and get the developer's from the address at which the local cloud serves them.

use std::time::{Duration, SystemTime};

use aws_config::{
    Region, default_provider::credentials::DefaultCredentialsChain,
    environment::EnvironmentVariableRegionProvider, meta::region::RegionProviderChain,
    profile::ProfileFileRegionProvider, provider_config::ProviderConfig,
};
use aws_credential_types::{Credentials, provider::SharedCredentialsProvider};
use serde::{Deserialize, Serialize};
use turns::ports::{Source, Unavailable};

use crate::http;

/// The time limit for fetching credentials. A developer's credential command or single sign-on may take seconds.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Credentials as a local cloud serves them. There is no `Debug`, so that nothing prints them.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ServedCredentials {
    access_key_id: String,
    secret_access_key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// The end of the validity, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    expiration: Option<u64>,
}

impl From<&Credentials> for ServedCredentials {
    fn from(credentials: &Credentials) -> Self {
        let since_epoch = |end: SystemTime| end.duration_since(SystemTime::UNIX_EPOCH).ok();
        Self {
            access_key_id: credentials.access_key_id().to_owned(),
            secret_access_key: credentials.secret_access_key().to_owned(),
            token: credentials.session_token().map(str::to_owned),
            expiration: credentials.expiry().and_then(since_epoch).map(|time| time.as_secs()),
        }
    }
}

impl From<ServedCredentials> for Credentials {
    fn from(served: ServedCredentials) -> Self {
        let ServedCredentials { access_key_id, secret_access_key, token, expiration } = served;
        let end = expiration.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        Self::new(access_key_id, secret_access_key, token, end, "local-cloud")
    }
}

/// Fetches the credentials that a local cloud serves.
///
/// # Errors
/// Fails if it is unreachable, or has none.
pub async fn fetch(url: &str) -> Result<Credentials, Unavailable> {
    let fetched = async {
        let response = http::loopback()?.get(url).timeout(TIMEOUT).send().await?.error_for_status()?;
        let served: ServedCredentials = serde_json::from_slice(&response.bytes().await?)?;
        Ok::<_, Source>(served.into())
    };
    fetched.await.map_err(|source| {
        // The URL is a secret.
        let source = match source.downcast::<reqwest::Error>() {
            Ok(error) => error.without_url().into(),
            Err(source) => source,
        };
        Unavailable { what: "the AWS credentials", source }
    })
}

/// Returns the developer's credentials: from the environment, a profile, single sign-on, or a metadata service. Nothing is
/// read yet.
pub async fn developer_credentials(region: String) -> SharedCredentialsProvider {
    let config = ProviderConfig::default().with_http_client(http::default_client());
    // Without a region, the chain would ask a metadata service for one, which most machines lack.
    let chain = DefaultCredentialsChain::builder().configure(config).region(Region::new(region));
    SharedCredentialsProvider::new(chain.build().await)
}

/// Returns the region of the environment or of the selected profile, without a metadata service.
pub async fn profile_region() -> Option<String> {
    let environment = EnvironmentVariableRegionProvider::new();
    let chain = RegionProviderChain::first_try(environment).or_else(ProfileFileRegionProvider::new());
    Some(chain.region().await?.as_ref().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn served_credentials_round_trip() {
        let end = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        for credentials in [
            Credentials::new("AKID", "secret", None, None, "local-cloud"),
            Credentials::new("AKID", "secret", Some("token".to_owned()), Some(end), "local-cloud"),
        ] {
            let text = serde_json::to_string(&ServedCredentials::from(&credentials)).unwrap();
            let read: ServedCredentials = serde_json::from_str(&text).unwrap();
            assert_eq!(Credentials::from(read), credentials);
        }
    }
}
