//! A source of valid tokens for a deployment.

use std::time::{Duration, SystemTime};

use tokio::sync::Mutex;

use crate::browser::{self, BrowserError};
use crate::cognito::{self, CognitoError};
use crate::sign_in::{Refresh, SignIn, expiry, seconds};
use crate::store::{Store, StoreError};

/// Validity that a token must have left to be used.
const MARGIN: Duration = Duration::from_secs(60);

/// A source of valid tokens: the stored one, or a new one for the refresh token.
#[derive(Debug)]
pub struct TokenSource {
    store: Store,
    sign_in: Mutex<SignIn>,
}

/// A token that can't be had.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The sign-in has expired, or was revoked.
    #[error("Your sign-in to {api_url} has expired. Sign in again with `{command}`.")]
    Expired {
        /// URL of the API.
        api_url: String,
        /// The command that signs in again.
        command: String,
    },
    /// The user pool can't be reached.
    #[error("Can't refresh the sign-in")]
    Cognito(#[from] CognitoError),
    /// The identity provider can't be reached.
    #[error("Can't refresh the sign-in")]
    Browser(#[from] BrowserError),
    /// The new token can't be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl TokenSource {
    /// Returns the source of a stored sign-in.
    #[must_use]
    pub fn new(store: Store, sign_in: SignIn) -> Self {
        Self { store, sign_in: Mutex::new(sign_in) }
    }

    /// Returns a token that is valid for another minute.
    ///
    /// # Errors
    /// Fails if the sign-in has expired, or if its provider can't be reached.
    pub async fn token(&self) -> Result<String, TokenError> {
        let mut sign_in = self.sign_in.lock().await;
        if is_valid(&sign_in) {
            return Ok(sign_in.token.clone());
        }
        // Another process may have refreshed it.
        match self.store.find(&sign_in.api_url)? {
            Some(stored) if is_valid(&stored) => *sign_in = stored,
            stored => {
                let refreshed = refresh(stored.unwrap_or_else(|| sign_in.clone())).await?;
                self.store.save(&refreshed)?;
                *sign_in = refreshed;
            }
        }
        Ok(sign_in.token.clone())
    }
}

fn is_valid(sign_in: &SignIn) -> bool {
    sign_in.expires_at > seconds(SystemTime::now() + MARGIN)
}

async fn refresh(mut sign_in: SignIn) -> Result<SignIn, TokenError> {
    let expired = TokenError::Expired { api_url: sign_in.api_url.clone(), command: sign_in.command() };
    let token = match &mut sign_in.refresh {
        Refresh::Cognito { endpoint, client_id, refresh_token } => {
            let (token, rotated) = match cognito::refresh(endpoint, client_id, refresh_token).await {
                Err(error) if error.is_expired() => return Err(expired),
                refreshed => refreshed?,
            };
            if let Some(rotated) = rotated {
                *refresh_token = rotated;
            }
            token
        }
        Refresh::Oidc { token_endpoint, client_id, refresh_token, is_access_token, .. } => {
            let Some(current) = refresh_token else { return Err(expired) };
            let tokens = match browser::refresh(token_endpoint, client_id, current).await {
                Err(error) if error.is_expired() => return Err(expired),
                refreshed => refreshed?,
            };
            if let Some(rotated) = tokens.refresh_token {
                *refresh_token = Some(rotated);
            }
            let token = if *is_access_token { Some(tokens.access_token) } else { tokens.id_token };
            // Providers may leave the ID token out of a refresh.
            token.ok_or(expired)?
        }
    };
    Ok(SignIn { expires_at: expiry(&token, SystemTime::now()), token, ..sign_in })
}

/// Revokes a sign-in at its provider. A provider without revocation keeps it until it expires.
///
/// # Errors
/// Fails if the provider can't be reached or refuses.
pub async fn revoke(sign_in: &SignIn) -> Result<(), TokenError> {
    match &sign_in.refresh {
        Refresh::Cognito { endpoint, client_id, refresh_token } => {
            Ok(cognito::revoke(endpoint, client_id, refresh_token).await?)
        }
        Refresh::Oidc { revocation_endpoint: Some(url), client_id, refresh_token: Some(token), .. } => {
            Ok(browser::revoke(url, client_id, token).await?)
        }
        Refresh::Oidc { .. } => Ok(()),
    }
}
