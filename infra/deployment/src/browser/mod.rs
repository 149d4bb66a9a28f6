//! Sign-in with the page of an identity provider, in the user's browser (RFC 8252): the authorization code flow with PKCE,
//! whose redirect ends at a listener on this machine.
//!
//! Works with the managed login of a Cognito user pool, and with any other OpenID Connect provider.

mod error;
mod pkce;
mod provider;
mod redirect;
mod tokens;

use std::time::SystemTime;

use url::Url;

use crate::http;
use crate::sign_in::{Refresh, SignIn, audiences_of, claims, expiry, token_claim};
pub use error::BrowserError;
use pkce::Pkce;
pub use provider::Provider;
use redirect::RedirectListener;
use tokens::{Tokens, exchange};
pub(crate) use tokens::{refresh, revoke};

/// Port of the redirect. It is fixed, since providers compare the whole URL with the registered one.
pub const REDIRECT_PORT: u16 = 8976;

/// Choices of a sign-in.
#[derive(Debug, Clone)]
pub struct Options {
    /// URL of the API.
    pub api_url: String,
    /// The client, which needs [`redirect_url`] as a redirect.
    pub client_id: String,
    /// The requested scopes, separated by spaces.
    pub scope: String,
    /// The audiences that the API accepts; empty if they are not known.
    pub audiences: Vec<String>,
    /// Port of the redirect.
    pub port: u16,
}

/// A sign-in that waits for the user.
pub struct Authorization {
    provider: Provider,
    options: Options,
    pkce: Pkce,
    nonce: String,
    url: String,
    listener: RedirectListener,
}

impl std::fmt::Debug for Authorization {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authorization").field("provider", &self.provider).finish_non_exhaustive()
    }
}

/// Returns the URL to which the provider sends the browser back.
#[must_use]
pub fn redirect_url(port: u16) -> String {
    format!("http://localhost:{port}{}", redirect::PATH)
}

impl Authorization {
    /// Listens for the redirect.
    ///
    /// # Errors
    /// Fails if the port is not available.
    pub async fn start(provider: Provider, options: Options) -> Result<Self, BrowserError> {
        let (pkce, state, nonce) = (Pkce::random()?, pkce::random()?, pkce::random()?);
        let mut url = Url::parse(&provider.authorization_endpoint)
            .map_err(|_| BrowserError::Discovery(provider.issuer.clone()))?;
        let (redirect, challenge) = (redirect_url(options.port), pkce.challenge());
        let query: [(&str, &str); 8] = [
            ("response_type", "code"),
            ("client_id", &options.client_id),
            ("redirect_uri", &redirect),
            ("scope", &options.scope),
            ("state", &state),
            ("nonce", &nonce),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ];
        url.query_pairs_mut().extend_pairs(query);
        let listener = RedirectListener::bind(options.port, state, provider.issuer.clone()).await?;
        Ok(Self { provider, options, pkce, nonce, url: url.into(), listener })
    }

    /// The URL that the user opens in a browser.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits for the user, and gets the tokens.
    ///
    /// # Errors
    /// Fails if the user or the provider refuses.
    pub async fn finish(self) -> Result<SignIn, BrowserError> {
        let Self { provider, options, pkce, nonce, listener, .. } = self;
        let code = listener.code().await?;
        let redirect = redirect_url(options.port);
        let form: [(&str, &str); 5] = [
            ("grant_type", "authorization_code"),
            ("client_id", &options.client_id),
            ("code", &code),
            ("redirect_uri", &redirect),
            ("code_verifier", pkce.verifier()),
        ];
        let tokens = exchange(&http::client(), &provider.token_endpoint, &form).await?;
        check_nonce(&tokens, &nonce)?;
        let (token, is_access_token) = choose(&tokens, &options.audiences)?;
        let shown = tokens.id_token.as_deref().unwrap_or(&token);
        let user = ["email", "name", "sub"].iter().find_map(|name| token_claim(shown, name));
        Ok(SignIn {
            api_url: options.api_url,
            stack: None,
            user: user.unwrap_or_else(|| "an unnamed user".to_owned()),
            expires_at: expiry(&token, SystemTime::now()),
            refresh: Refresh::Oidc {
                token_endpoint: provider.token_endpoint,
                revocation_endpoint: provider.revocation_endpoint,
                client_id: options.client_id,
                refresh_token: tokens.refresh_token,
                is_access_token,
            },
            token,
        })
    }
}

/// Checks that the ID token answers this sign-in and no other.
fn check_nonce(tokens: &Tokens, nonce: &str) -> Result<(), BrowserError> {
    let Some(token) = &tokens.id_token else { return Ok(()) };
    match claims(token).as_ref().and_then(|claims| claims.get("nonce")?.as_str()) {
        Some(found) if found == nonce => Ok(()),
        _ => Err(BrowserError::Nonce),
    }
}

/// Chooses the token that the API accepts. The second value is true for the access token.
fn choose(tokens: &Tokens, audiences: &[String]) -> Result<(String, bool), BrowserError> {
    let candidates = [(tokens.id_token.as_ref(), false), (Some(&tokens.access_token), true)];
    let candidates = candidates.into_iter().filter_map(|(token, is_access)| Some((token?, is_access)));
    let mut accepted = candidates.filter(|(token, _)| {
        audiences.is_empty() || audiences_of(token).iter().any(|named| audiences.contains(named))
    });
    let (token, is_access) = accepted.next().ok_or_else(|| BrowserError::Audience(audiences.join(", ")))?;
    Ok((token.clone(), is_access))
}
