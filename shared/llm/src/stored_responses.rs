//! Deletes responses that a provider stored: `DELETE {base_url}/responses/{id}`.

use std::time::Duration;

use agent::model::Error;
use contracts::error::causes;
use reqwest::{StatusCode, Url};
use tokio::time::{Instant, timeout};

use crate::clock::SystemClock;
use crate::config::{Config, ConfigError};
use crate::error_response::ErrorResponse;
use crate::key::{ApiKey, KeySource};
use crate::retry::{FailedAttempt, Policy};
use crate::retry_loop::RetryLoop;
use crate::trace;

/// The timeout of a deletion.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The responses that a provider stored.
#[derive(Debug)]
pub struct StoredResponses<K = ApiKey> {
    http: reqwest::Client,
    url: Url,
    keys: K,
    config: Config,
}

impl<K: KeySource> StoredResponses<K> {
    /// Creates a client without connecting. Uses the base URL, key, headers and connect timeout of `config`.
    ///
    /// # Errors
    ///
    /// [`ConfigError`], which names the invalid setting.
    pub fn new(config: Config, keys: K) -> Result<Self, ConfigError> {
        let (url, http) = (config.endpoint_url("responses")?, config.http_client()?);
        // No retries: the caller tries again minutes later.
        let config = Config { retry: Policy { retries: 0, ..config.retry }, ..config };
        Ok(Self { http, url, keys, config })
    }

    /// Deletes a response. Succeeds if it doesn't exist, as on a wire without stored responses.
    ///
    /// # Errors
    ///
    /// The classified error of the provider.
    pub async fn delete(&self, id: &str) -> Result<(), Error> {
        let stores = self.config.wire.continues_responses();
        let Some(url) = self.response_url(id).filter(|_| stores) else { return Ok(()) };
        let deadline = Instant::now() + TIMEOUT;
        let message = "a stored response was not removed";
        let mut retries = RetryLoop::start(&self.keys, &SystemClock, &self.config, deadline, message).await?;
        loop {
            match self.attempt(url.clone(), &retries.key, retries.prior_attempts).await {
                Ok(()) => return Ok(()),
                Err(failed) => retries.wait_for_next(failed, |_| {}).await?,
            }
        }
    }

    /// Returns the URL of a response, or `None` if the id can't be a path segment.
    fn response_url(&self, id: &str) -> Option<Url> {
        let mut url = self.url.clone();
        let is_valid = !["", ".", ".."].contains(&id);
        url.path_segments_mut().ok().filter(|_| is_valid)?.push(id);
        Some(url)
    }

    async fn attempt(&self, url: Url, key: &ApiKey, prior_attempts: u32) -> Result<(), FailedAttempt> {
        let failed = |error| FailedAttempt::without_response(prior_attempts, error);
        let request = self
            .http
            .delete(url)
            .headers(self.config.headers(key).map_err(failed)?)
            .headers(trace::propagation_headers());
        let sent = timeout(TIMEOUT, request.send()).await.map_err(|_| failed(Error::TimedOut))?;
        let response = sent.map_err(|error| {
            tracing::warn!(error = %causes(&error.without_url()), "{}", contracts::log::MODEL_UNREACHABLE);
            failed(Error::UNAVAILABLE)
        })?;
        if response.status().is_success() || response.status() == StatusCode::NOT_FOUND {
            return Ok(());
        }
        Err(ErrorResponse::read(response).await.into_attempt(prior_attempts, false))
    }
}
