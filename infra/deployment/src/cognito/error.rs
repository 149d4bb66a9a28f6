//! Errors of a sign-in to a user pool.

use crate::aws::AwsError;
use crate::cognito::srp::InvalidChallenge;
use crate::http::Unreachable;

/// A failure to sign in to a user pool.
#[derive(Debug, thiserror::Error)]
pub enum CognitoError {
    /// The pool's id has no region.
    #[error("{0:?} is not the id of a user pool, such as eu-west-1_AbCdEfGhI")]
    PoolId(String),
    /// The user pool can't be reached.
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    /// The pool refused the user.
    #[error("Cognito refused the sign-in: {message}")]
    Refused {
        /// The error code.
        code: String,
        /// The message.
        message: String,
    },
    /// The server is not a user pool.
    #[error(transparent)]
    Challenge(#[from] InvalidChallenge),
    /// The pool asks for something that a terminal can't provide.
    #[error("Cognito asks for {0}, which works in a browser only. Sign in with --browser.")]
    Unsupported(String),
    /// An answer of the user can't be read.
    #[error("Can't read from the terminal")]
    Terminal(#[source] std::io::Error),
}

impl CognitoError {
    /// True if the refresh token has expired or was revoked.
    pub(crate) fn is_expired(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code == "NotAuthorizedException")
    }

    pub(super) fn refused(status: u16, text: &str) -> Self {
        let error = AwsError::refused("cognito-idp", "sign-in", status, None, text);
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        Self::Refused { code: text(error.code()), message: text(error.message()) }
    }
}
