//! Errors of a sign-in in the browser.

use crate::http::Unreachable;

/// A failure to sign in in the browser.
#[derive(Debug, thiserror::Error)]
pub enum BrowserError {
    /// The identity provider can't be reached.
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    /// The issuer has no usable discovery document.
    #[error(
        "{0} has no OpenID Connect discovery document with its endpoints. A user pool needs a domain for its sign-in page: deploy with UserPoolDomainPrefix."
    )]
    Discovery(String),
    /// The discovery document names another issuer.
    #[error("The discovery document of {0} names another issuer")]
    Issuer(String),
    /// The port is not available.
    #[error(
        "Can't listen on 127.0.0.1:{port}. Choose another port with --port, and register it as a redirect."
    )]
    Port {
        /// The port.
        port: u16,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The provider refused the sign-in.
    #[error("The identity provider refused the sign-in: {description} ({code})")]
    Refused {
        /// The error code of OAuth.
        code: String,
        /// The description.
        description: String,
    },
    /// The response of the token endpoint is not one.
    #[error("The identity provider sent no tokens")]
    NoTokens,
    /// The ID token belongs to another sign-in.
    #[error("The ID token belongs to another sign-in")]
    Nonce,
    /// No token is for the API.
    #[error(
        "No token of this client is for an audience that the API accepts ({0}). Choose the client with --client-id."
    )]
    Audience(String),
    /// The system has no random numbers.
    #[error("The system has no random numbers")]
    Random,
    /// The listener ended before the redirect.
    #[error("The sign-in ended before the browser came back")]
    Interrupted,
}

impl BrowserError {
    /// True if the refresh token has expired or was revoked.
    pub(crate) fn is_expired(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code == "invalid_grant")
    }
}
