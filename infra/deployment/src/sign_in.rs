//! A sign-in to a deployment: its token, and the means to get the next one.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Lifetime that is assumed of a token without an expiry.
const ASSUMED_LIFETIME: Duration = Duration::from_secs(300);

/// A sign-in to a deployment, as it is stored.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct SignIn {
    /// URL of the API, without a trailing slash.
    pub api_url: String,
    /// Name of the stack, if the sign-in named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// Name of the user, to show.
    pub user: String,
    /// The token that the API accepts.
    pub token: String,
    /// Time at which the token expires, in seconds since 1970.
    pub expires_at: u64,
    /// The means to get the next token.
    pub refresh: Refresh,
}

/// The means to get the next token.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "Kind", rename_all = "snake_case", rename_all_fields = "PascalCase")]
pub enum Refresh {
    /// A Cognito user pool.
    Cognito {
        /// URL of the user pools' API.
        endpoint: String,
        /// The app client.
        client_id: String,
        /// The refresh token.
        refresh_token: String,
    },
    /// The token endpoint of an OpenID Connect provider.
    Oidc {
        /// URL of the token endpoint.
        token_endpoint: String,
        /// URL of the revocation endpoint, if the provider has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        revocation_endpoint: Option<String>,
        /// The client.
        client_id: String,
        /// The refresh token, if the provider issued one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refresh_token: Option<String>,
        /// True if the API accepts the access token, and not the ID token.
        #[serde(default)]
        is_access_token: bool,
    },
}

impl std::fmt::Debug for SignIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignIn")
            .field("api_url", &self.api_url)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Refresh {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Refresh")
    }
}

impl SignIn {
    /// Returns the command that signs in again.
    #[must_use]
    pub fn command(&self) -> String {
        if let Some(stack) = &self.stack {
            return format!("aptix sign-in --stack {stack}");
        }
        let (Refresh::Cognito { client_id, .. } | Refresh::Oidc { client_id, .. }) = &self.refresh;
        format!("aptix sign-in --api-url {} --client-id {client_id}", self.api_url)
    }

    /// Returns a claim of the token that is a string.
    #[must_use]
    pub fn claim(&self, name: &str) -> Option<String> {
        token_claim(&self.token, name)
    }
}

/// Returns the claims of a token without verifying it. The API verifies it; the claims here are shown to its owner.
pub(crate) fn claims(token: &str) -> Option<Map<String, Value>> {
    let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    serde_json::from_slice(&payload).ok()
}

/// Returns a claim of a token that is a string, without verifying the token.
#[must_use]
pub fn token_claim(token: &str, name: &str) -> Option<String> {
    Some(claims(token)?.get(name)?.as_str()?.to_owned())
}

/// Returns the audiences that a token names, without verifying the token.
pub(crate) fn audiences_of(token: &str) -> Vec<String> {
    let claims = claims(token).unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match claims.get("aud") {
        Some(Value::Array(all)) => all.iter().filter_map(text).collect(),
        Some(one) => text(one).into_iter().collect(),
        None => Vec::new(),
    }
}

/// Returns the time at which a token expires, in seconds since 1970.
#[must_use]
pub fn expiry(token: &str, now: SystemTime) -> u64 {
    let named = claims(token).and_then(|claims| claims.get("exp")?.as_u64());
    named.unwrap_or_else(|| seconds(now) + ASSUMED_LIFETIME.as_secs())
}

/// Returns a time in seconds since 1970.
pub(crate) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expiry_is_read_from_token_or_assumed() {
        let token = format!("e30.{}.x", URL_SAFE_NO_PAD.encode(r#"{"exp":1700000000,"custom:org":"acme"}"#));
        let now = UNIX_EPOCH + Duration::from_secs(10);
        assert_eq!(expiry(&token, now), 1_700_000_000);
        assert_eq!(token_claim(&token, "custom:org").as_deref(), Some("acme"));
        for opaque in ["", "opaque", "a.b.c"] {
            assert_eq!(expiry(opaque, now), 310, "{opaque:?}");
        }
    }

    #[test]
    fn debug_output_hides_tokens() {
        let refresh =
            Refresh::Cognito { endpoint: "e".into(), client_id: "c".into(), refresh_token: "marker".into() };
        let sign_in = SignIn {
            api_url: "https://api".into(),
            stack: None,
            user: "ada".into(),
            token: "marker".into(),
            expires_at: 0,
            refresh,
        };
        assert!(!format!("{sign_in:?} {:?}", sign_in.refresh).contains("marker"));
        let stored = serde_json::to_string(&sign_in).unwrap();
        assert_eq!(serde_json::from_str::<SignIn>(&stored).unwrap(), sign_in);
        assert!(
            stored.contains(r#""Kind":"cognito""#) && stored.contains(r#""RefreshToken":"marker""#),
            "{stored}"
        );
    }
}
