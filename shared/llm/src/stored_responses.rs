//! Deletes responses that a provider stored, and reads their usage: `DELETE` and `GET {base_url}/responses/{id}`.

use std::time::Duration;

use agent::model::Error;
use contracts::error::causes;
use reqwest::{Method, Response, StatusCode, Url};
use serde::Deserialize;
use tokio::time::{Instant, timeout};

use crate::auth::authenticate;
use crate::clock::SystemClock;
use crate::compression::Body;
use crate::config::{Config, ConfigError};
use crate::error_response::ErrorResponse;
use crate::key::{ApiKey, KeySource};
use crate::retry::{FailedAttempt, Policy};
use crate::retry_loop::RetryLoop;
use crate::trace;
use crate::usage::Usage;

/// The timeout of a deletion.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The timeout of a read.
const READ_TIMEOUT: Duration = Duration::from_secs(3);

/// The statuses of a response that goes on no more.
const ENDS: [&str; 4] = ["completed", "incomplete", "failed", "cancelled"];

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
        let message = "a stored response was not removed";
        self.send(Method::DELETE, id, TIMEOUT, message).await.map(|_| ())
    }

    /// Returns the usage of a response, unless it still goes on, doesn't exist, or has none. Reads nothing else of it.
    ///
    /// # Errors
    ///
    /// The classified error of the provider, also after three seconds.
    pub async fn usage(&self, id: &str) -> Result<Option<contracts::Usage>, Error> {
        let read = async {
            let message = "a stored response was not read";
            let Some(response) = self.send(Method::GET, id, READ_TIMEOUT, message).await? else {
                return Ok(None);
            };
            let body = self.read(response).await?;
            let stored: StoredUsage = serde_json::from_slice(&body).map_err(|_| Error::Malformed)?;
            let has_ended = stored.status.is_some_and(|status| ENDS.contains(&status.as_str()));
            Ok(stored.usage.counts.filter(|_| has_ended))
        };
        timeout(READ_TIMEOUT, read).await.map_err(|_| Error::TimedOut)?
    }

    /// Sends a request about a response. Returns none if it doesn't exist, as on a wire without stored responses.
    async fn send(
        &self,
        method: Method,
        id: &str,
        limit: Duration,
        message: &'static str,
    ) -> Result<Option<Response>, Error> {
        let stores = self.config.wire.continues_responses();
        let Some(url) = self.response_url(id).filter(|_| stores) else { return Ok(None) };
        let deadline = Instant::now() + limit;
        let mut retries = RetryLoop::start(&self.keys, &SystemClock, &self.config, deadline, message).await?;
        loop {
            let attempt =
                self.attempt(method.clone(), url.clone(), limit, &retries.key, retries.prior_attempts);
            match attempt.await {
                Ok(response) => return Ok(response),
                Err(failed) => retries.wait_for_next(failed, |_| {}).await?,
            }
        }
    }

    /// Reads a body of bounded size.
    async fn read(&self, mut response: Response) -> Result<Vec<u8>, Error> {
        let mut body = Body::new(response.headers(), self.config.limits.event);
        while let Some(piece) = response.chunk().await.map_err(|_| Error::UNAVAILABLE)? {
            body.push(&piece).map_err(|_| Error::Malformed)?;
        }
        Ok(body.finish())
    }

    /// Returns the URL of a response, or `None` if the id can't be a path segment.
    fn response_url(&self, id: &str) -> Option<Url> {
        let mut url = self.url.clone();
        let is_valid = !["", ".", ".."].contains(&id);
        url.path_segments_mut().ok().filter(|_| is_valid)?.push(id);
        Some(url)
    }

    async fn attempt(
        &self,
        method: Method,
        url: Url,
        limit: Duration,
        key: &ApiKey,
        prior_attempts: u32,
    ) -> Result<Option<Response>, FailedAttempt> {
        let failed = |error| FailedAttempt::without_response(prior_attempts, error);
        let request = self
            .http
            .request(method, url)
            .headers(self.config.headers(key).map_err(failed)?)
            .headers(trace::propagation_headers());
        let request = authenticate(request, key, &self.config.key_location).map_err(failed)?;
        let sent = timeout(limit, self.http.execute(request)).await.map_err(|_| failed(Error::TimedOut))?;
        let response = sent.map_err(|error| {
            tracing::warn!(error = %causes(&error.without_url()), "{}", contracts::log::MODEL_UNREACHABLE);
            failed(Error::UNAVAILABLE)
        })?;
        match response.status() {
            StatusCode::NOT_FOUND => Ok(None),
            status if status.is_success() => Ok(Some(response)),
            _ => Err(ErrorResponse::read(response).await.into_attempt(prior_attempts, false)),
        }
    }
}

/// The members of a stored response that are read.
#[derive(Debug, Deserialize)]
struct StoredUsage {
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    usage: Usage,
}
