//! Discovery of an OpenID Connect provider.

use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::browser::BrowserError;
use crate::http::{self, Unreachable};

/// The endpoints of an OpenID Connect provider, as the members of its metadata (RFC 8414).
#[derive(Debug, Clone, Serialize)]
pub struct Provider {
    /// The issuer.
    pub issuer: String,
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) revocation_endpoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_session_endpoint: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    id_token_signing_alg_values_supported: Vec<String>,
    authorization_response_iss_parameter_supported: bool,
}

#[derive(Deserialize)]
struct DiscoveryDocument {
    issuer: String,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    revocation_endpoint: Option<String>,
    end_session_endpoint: Option<String>,
    #[serde(default)]
    id_token_signing_alg_values_supported: Vec<String>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

impl Provider {
    /// Reads the discovery document below this URL. `issuer` is the name that it must have; without it, any will do, as for
    /// an emulator.
    ///
    /// # Errors
    /// Fails if there is no such document, or if an endpoint has no TLS.
    pub async fn discover(url: &str, issuer: Option<&str>) -> Result<Self, BrowserError> {
        let absent = || BrowserError::Discovery(url.to_owned());
        let document = format!("{}/.well-known/openid-configuration", url.trim_end_matches('/'));
        let response = http::client().get(&document).send().await.map_err(Unreachable::at(&document))?;
        if !response.status().is_success() {
            return Err(absent());
        }
        let text = response.text().await.map_err(Unreachable::at(&document))?;
        let found: DiscoveryDocument = serde_json::from_str(&text).map_err(|_| absent())?;
        if issuer.is_some_and(|issuer| issuer != found.issuer) {
            return Err(BrowserError::Issuer(url.to_owned()));
        }
        let endpoint = |named: Option<String>| named.filter(|url| is_secure(url));
        Ok(Self {
            issuer: found.issuer,
            authorization_endpoint: endpoint(found.authorization_endpoint).ok_or_else(absent)?,
            token_endpoint: endpoint(found.token_endpoint).ok_or_else(absent)?,
            revocation_endpoint: endpoint(found.revocation_endpoint),
            end_session_endpoint: endpoint(found.end_session_endpoint),
            id_token_signing_alg_values_supported: found.id_token_signing_alg_values_supported,
            authorization_response_iss_parameter_supported: found
                .authorization_response_iss_parameter_supported,
        })
    }
}

/// True if nobody between can read a request to this URL.
fn is_secure(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    let is_loopback = match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    url.scheme() == "https" || url.scheme() == "http" && is_loopback
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_without_tls_are_for_this_machine_only() {
        for url in
            ["https://login.example.org/a", "http://127.0.0.1:1/a", "http://localhost:1/", "http://[::1]/"]
        {
            assert!(is_secure(url), "{url}");
        }
        for url in ["http://login.example.org/a", "ftp://127.0.0.1/", "/authorize", ""] {
            assert!(!is_secure(url), "{url}");
        }
    }
}
