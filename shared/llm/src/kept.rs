//! What a provider keeps: a stored response can be removed, `DELETE {base}/responses/{id}`.

use std::time::Duration;

use agent::model::Error;
use contracts::error::causes;
use reqwest::{StatusCode, Url};
use tokio::time::{Instant, timeout};

use crate::config::{Config, Unusable};
use crate::key::{ApiKey, Keys};
use crate::refusal::Refusal;
use crate::retry::{Attempt, Policy};
use crate::retrying::Retrying;
use crate::trace;
use crate::wait::Real;

/// How long a provider is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// The responses that a provider keeps.
#[derive(Debug)]
pub struct Kept<K = ApiKey> {
    http: reqwest::Client,
    url: Url,
    keys: K,
    config: Config,
}

impl<K: Keys> Kept<K> {
    /// A client that has not connected yet. Of the configuration count the base, key and headers, and the wait for a
    /// connection.
    ///
    /// # Errors
    ///
    /// [`Unusable`], which names the setting at fault.
    pub fn new(config: Config, keys: K) -> Result<Self, Unusable> {
        let (url, http) = (config.endpoint("responses")?, config.http()?);
        // Whoever asks comes again, minutes later.
        let config = Config { retry: Policy { retries: 0, ..config.retry }, ..config };
        Ok(Self { http, url, keys, config })
    }

    /// Removes a response. One that is not there is removed.
    ///
    /// # Errors
    ///
    /// What the provider said, by its name.
    pub async fn remove(&self, id: &str) -> Result<(), Error> {
        let Some(url) = self.of(id) else { return Ok(()) };
        let until = Instant::now() + PATIENCE;
        let message = "a stored response was not removed";
        let mut retrying = Retrying::begin(&self.keys, &Real, &self.config, until, message).await?;
        loop {
            match self.attempt(url.clone(), &retrying.key, retrying.before).await {
                Ok(()) => return Ok(()),
                Err(failed) => retrying.after(failed, |_| {}).await?,
            }
        }
    }

    /// Where a response is; none where its id is none that a path could hold.
    fn of(&self, id: &str) -> Option<Url> {
        let mut url = self.url.clone();
        let is_one = !["", ".", ".."].contains(&id);
        url.path_segments_mut().ok().filter(|_| is_one)?.push(id);
        Some(url)
    }

    async fn attempt(&self, url: Url, key: &ApiKey, before: u32) -> Result<(), Attempt> {
        let failed = |error| Attempt::without_response(before, error);
        let request = self
            .http
            .delete(url)
            .headers(self.config.headers(key).map_err(failed)?)
            .headers(trace::headers());
        let sent = timeout(PATIENCE, request.send()).await.map_err(|_| failed(Error::TimedOut))?;
        let response = sent.map_err(|error| {
            tracing::warn!(error = %causes(&error.without_url()), "the model provider can't be reached");
            failed(Error::UNAVAILABLE)
        })?;
        if response.status().is_success() || response.status() == StatusCode::NOT_FOUND {
            return Ok(());
        }
        Err(Refusal::read(response).await.attempt(before, false))
    }
}
