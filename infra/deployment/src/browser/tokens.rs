//! Requests to the token and revocation endpoints.

use reqwest::Client;
use serde::Deserialize;

use crate::browser::BrowserError;
use crate::http::{self, Unreachable};

/// The tokens of a response.
#[derive(Deserialize)]
pub(crate) struct Tokens {
    pub(crate) access_token: String,
    pub(crate) id_token: Option<String>,
    pub(crate) refresh_token: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OauthError {
    error: Option<String>,
    error_description: Option<String>,
}

/// Exchanges a code or a refresh token for tokens.
pub(super) async fn exchange(
    http: &Client,
    token_endpoint: &str,
    form: &[(&str, &str)],
) -> Result<Tokens, BrowserError> {
    let text = post(http, token_endpoint, form).await?;
    serde_json::from_str(&text).map_err(|_| BrowserError::NoTokens)
}

/// Returns new tokens for a refresh token.
pub(crate) async fn refresh(
    token_endpoint: &str,
    client_id: &str,
    refresh_token: &str,
) -> Result<Tokens, BrowserError> {
    let form: [(&str, &str); 3] =
        [("grant_type", "refresh_token"), ("client_id", client_id), ("refresh_token", refresh_token)];
    exchange(&http::client(), token_endpoint, &form).await
}

/// Revokes a refresh token (RFC 7009).
pub(crate) async fn revoke(url: &str, client_id: &str, refresh_token: &str) -> Result<(), BrowserError> {
    let form = [("token", refresh_token), ("token_type_hint", "refresh_token"), ("client_id", client_id)];
    post(&http::client(), url, &form).await.map(drop)
}

async fn post(http: &Client, url: &str, form: &[(&str, &str)]) -> Result<String, BrowserError> {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let request = http.post(url).header("content-type", "application/x-www-form-urlencoded");
    let response = request.body(body).send().await.map_err(Unreachable::at(url))?;
    let status = response.status();
    let text = response.text().await.map_err(Unreachable::at(url))?;
    if status.is_success() {
        return Ok(text);
    }
    let OauthError { error, error_description } = serde_json::from_str(&text).unwrap_or_default();
    Err(BrowserError::Refused {
        code: error.unwrap_or_else(|| format!("status {}", status.as_u16())),
        description: error_description.unwrap_or_else(|| "no description".to_owned()),
    })
}
