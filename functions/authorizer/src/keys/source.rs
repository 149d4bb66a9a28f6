//! Where the keys are: the issuer's discovery document (OpenID Connect Discovery §4) and its key set (RFC 7517).

use std::time::Duration;

use jsonwebtoken::jwk::JwkSet;
use reqwest::{Client, redirect::Policy};
use serde::Deserialize;

/// For a connection. A request of somebody's waits for it.
const CONNECT: Duration = Duration::from_secs(2);
/// For a whole document.
const PATIENCE: Duration = Duration::from_secs(4);
/// No document is longer.
const MOST_BYTES: usize = 512 * 1024;

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unavailable {
    /// The provider does not answer.
    #[error("the identity provider does not answer")]
    Away(#[source] reqwest::Error),
    /// TLS could not be set up.
    #[error("TLS could not be set up")]
    Tls(#[source] tls::Error),
    /// It answers something else.
    #[error("the identity provider's {0} can't be read")]
    Unreadable(&'static str),
    /// The document is another issuer's.
    #[error("the discovery document is that of another issuer than OIDC_ISSUER")]
    OtherIssuer,
    /// The keys would come over an open line.
    #[error("the discovery document names keys at a URL without TLS")]
    OpenLine,
}

/// Fetches the keys of an issuer.
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

impl Source {
    pub(super) fn new(issuer: String, jwks: Option<String>) -> Result<Self, Unavailable> {
        let tls = tls::client_config().map_err(Unavailable::Tls)?;
        tls::read_ahead();
        let http = Client::builder().tls_backend_preconfigured(tls).redirect(Policy::none());
        let http = http.connect_timeout(CONNECT).timeout(PATIENCE).build();
        Ok(Self { issuer, jwks, http: http.map_err(Unavailable::Away)? })
    }

    /// The keys as they are now; also those of a kind that checks no signature here.
    pub(super) async fn fetch(&self) -> Result<JwkSet, Unavailable> {
        let url = match &self.jwks {
            Some(url) => url.clone(),
            None => self.discover().await?,
        };
        self.read(&url, "key set").await
    }

    async fn discover(&self) -> Result<String, Unavailable> {
        let url = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        let found: Discovery = self.read(&url, "discovery document").await?;
        if found.issuer != self.issuer {
            return Err(Unavailable::OtherIssuer);
        }
        let tls = "https://";
        if self.issuer.starts_with(tls) && !found.jwks_uri.starts_with(tls) {
            return Err(Unavailable::OpenLine);
        }
        Ok(found.jwks_uri)
    }

    async fn read<T: for<'a> Deserialize<'a>>(
        &self,
        url: &str,
        what: &'static str,
    ) -> Result<T, Unavailable> {
        // Without its URL, which may hold what is nobody's business.
        let away = |error: reqwest::Error| Unavailable::Away(error.without_url());
        let answer = self.http.get(url).send().await.and_then(reqwest::Response::error_for_status);
        let mut answer = answer.map_err(away)?;
        let mut document = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(away)? {
            if document.len() + chunk.len() > MOST_BYTES {
                return Err(Unavailable::Unreadable(what));
            }
            document.extend_from_slice(&chunk);
        }
        serde_json::from_slice(&document).map_err(|_| Unavailable::Unreadable(what))
    }
}
