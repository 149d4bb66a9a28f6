//! The provider's list of models: `GET {base_url}/models`.

use agent::model::Error;
use contracts::json_bytes;
use reqwest::header::ACCEPT;
use serde::Deserialize;
use tokio::time::timeout;

use crate::auth::authenticate;
use crate::compression::Body;
use crate::config::Config;
use crate::key::{ApiKey, KeySource};
use crate::wire;

#[derive(Deserialize)]
struct ModelList {
    data: Vec<ListedModel>,
    #[serde(default)]
    has_more: bool,
}

#[derive(Deserialize)]
struct ListedModel {
    id: String,
}

/// Requests the names of the provider's models, within the timeout for the first byte. Returns an empty list if the
/// provider has none that can be read, or one with further pages.
///
/// # Errors
///
/// [`Error::Unauthenticated`] without a usable key, and [`Error::UNAVAILABLE`] or [`Error::TimedOut`] if the provider doesn't
/// answer.
pub async fn fetch<K: KeySource>(config: &Config, keys: &K) -> Result<Vec<String>, Error> {
    let key = keys.key(None).await?;
    let reply = timeout(config.timeouts.first_byte, request(config, &key)).await;
    let Some(body) = reply.map_err(|_| Error::TimedOut)?? else { return Ok(Vec::new()) };
    let list: Option<ModelList> = json_bytes::from_slice(&body).ok();
    // The rest of a list with pages may have any name.
    let list = list.filter(|list| !list.has_more);
    Ok(list.map_or_else(Vec::new, |list| list.data.into_iter().map(|listed| listed.id).collect()))
}

/// Sends the request. Returns `None` for an error response.
async fn request(config: &Config, key: &ApiKey) -> Result<Option<Vec<u8>>, Error> {
    let url = config.endpoint_url("models").map_err(|_| Error::UNAVAILABLE)?;
    let http = config.http_client().map_err(|_| Error::UNAVAILABLE)?;
    let request = http.get(url).headers(wire::headers(config.wire)).headers(config.headers(key)?);
    let request = authenticate(request.header(ACCEPT, "application/json"), key, &config.key_location)?;
    let mut response = http.execute(request).await.map_err(|_| Error::UNAVAILABLE)?;
    if !response.status().is_success() {
        return Ok(None);
    }
    let mut body = Body::new(response.headers(), config.limits.event);
    while let Some(piece) = response.chunk().await.map_err(|_| Error::UNAVAILABLE)? {
        if body.push(&piece).is_err() {
            return Ok(None);
        }
    }
    Ok(Some(body.finish()))
}
