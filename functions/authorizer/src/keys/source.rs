//! Fetches the issuer's discovery document (OpenID Connect Discovery §4) and its key set (RFC 7517).

use std::time::Duration;

use jsonwebtoken::{
    DecodingKey,
    jwk::{Jwk, JwkSet},
};
use reqwest::{Client, redirect::Policy};
use serde::Deserialize;
use serde_json::Value;

/// The timeout for connecting. A client's request waits for it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// The timeout of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(4);
/// The most bytes of a document.
const MAX_DOCUMENT_BYTES: usize = 512 * 1024;

/// A failure to fetch keys.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    /// The provider is unreachable.
    #[error("can't reach the identity provider")]
    Unreachable(#[source] reqwest::Error),
    /// TLS can't be set up.
    #[error("can't set up TLS")]
    Tls(#[source] tls::Error),
    /// A document is invalid.
    #[error("can't read the identity provider's {0}")]
    Unreadable(&'static str),
    /// The document has a different issuer.
    #[error("the discovery document names another issuer than OIDC_ISSUER")]
    OtherIssuer,
    /// The keys would be fetched without TLS.
    #[error("the discovery document has a jwks_uri without https://")]
    InsecureUrl,
}

/// A client for the keys of an issuer.
pub(super) struct Source {
    issuer: String,
    jwks: Option<String>,
    http: Client,
}

#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

/// A key set whose keys are parsed one by one.
#[derive(Deserialize)]
struct PublishedKeys {
    keys: Vec<Value>,
}

impl Source {
    pub(super) fn new(issuer: String, jwks: Option<String>) -> Result<Self, FetchError> {
        let tls = tls::client_config().map_err(FetchError::Tls)?;
        tls::preload_roots();
        let http = Client::builder().tls_backend_preconfigured(tls).redirect(Policy::none());
        let http = http.connect_timeout(CONNECT_TIMEOUT).timeout(REQUEST_TIMEOUT).build();
        Ok(Self { issuer, jwks, http: http.map_err(FetchError::Unreachable)? })
    }

    /// Fetches the current keys, including keys of unsupported types. Also returns the number of keys that are
    /// malformed: one of them must not spoil the set.
    pub(super) async fn fetch(&self) -> Result<(JwkSet, usize), FetchError> {
        let url = match &self.jwks {
            Some(url) => url.clone(),
            None => self.discover().await?,
        };
        let PublishedKeys { keys: published } = self.read(&url, "key set").await?;
        let count = published.len();
        let mut keys: Vec<Jwk> =
            published.into_iter().filter_map(|key| serde_json::from_value(key).ok()).collect();
        // A usable key comes before an unusable one of the same id.
        keys.sort_by_key(|key| DecodingKey::from_jwk(key).is_err());
        let malformed = count.saturating_sub(keys.len());
        Ok((JwkSet { keys }, malformed))
    }

    async fn discover(&self) -> Result<String, FetchError> {
        let url = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        let document: Discovery = self.read(&url, "discovery document").await?;
        if document.issuer != self.issuer {
            return Err(FetchError::OtherIssuer);
        }
        let tls = "https://";
        if self.issuer.starts_with(tls) && !document.jwks_uri.starts_with(tls) {
            return Err(FetchError::InsecureUrl);
        }
        Ok(document.jwks_uri)
    }

    async fn read<T: for<'a> Deserialize<'a>>(&self, url: &str, what: &'static str) -> Result<T, FetchError> {
        // Without the URL, which may contain credentials.
        let unreachable = |error: reqwest::Error| FetchError::Unreachable(error.without_url());
        let response = self.http.get(url).send().await.and_then(reqwest::Response::error_for_status);
        let mut response = response.map_err(unreachable)?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            if body.len() + chunk.len() > MAX_DOCUMENT_BYTES {
                return Err(FetchError::Unreadable(what));
            }
            body.extend_from_slice(&chunk);
        }
        serde_json::from_slice(&body).map_err(|_| FetchError::Unreadable(what))
    }
}
