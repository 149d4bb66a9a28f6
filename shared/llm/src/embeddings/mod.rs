//! Embeds texts: `POST {base_url}/embeddings` of an OpenAI-compatible provider.
//!
//! Sends texts in batches and retries a failed batch like a model call. Checks the reply: one vector per text, all of the
//! same length, with finite numbers. The caller chooses the model and the use of the vectors.

mod batch;
mod body;

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Response, Url};
use tokio::time::{timeout, timeout_at};
use tracing::Instrument;

use agent::model::Error;
use contracts::{error::causes, gen_ai};

use crate::auth::authenticate;
use crate::clock::{Clock, SystemClock};
use crate::compression::Body;
use crate::config::{Config, ConfigError};
use crate::error_response::ErrorResponse;
use crate::key::{ApiKey, KeySource};
use crate::retry::FailedAttempt;
use crate::retry_loop::RetryLoop;
use crate::trace;

pub use agent::retrieval::EmbeddingModel;
pub use batch::{EmbeddingBatch, Limits, batches};

/// A client of the embeddings API. Each client has its own connection pool.
#[derive(Debug)]
pub struct Embeddings<K = ApiKey, W = SystemClock> {
    http: reqwest::Client,
    url: Url,
    keys: K,
    config: Config,
    limits: Limits,
    clock: W,
}

impl<K: KeySource> Embeddings<K> {
    /// Creates a client without connecting. Uses the base URL, key, headers, timeouts and retry policy of `config`.
    ///
    /// # Errors
    ///
    /// [`ConfigError`], which names the invalid setting.
    pub fn new(config: Config, limits: Limits, keys: K) -> Result<Self, ConfigError> {
        let (url, http) = (config.endpoint_url("embeddings")?, config.http_client()?);
        Ok(Self { http, url, keys, config, limits, clock: SystemClock })
    }

    /// Replaces the clock, for tests.
    pub fn with_clock<W: Clock>(self, clock: W) -> Embeddings<K, W> {
        let Self { http, url, keys, config, limits, clock: SystemClock } = self;
        Embeddings { http, url, keys, config, limits, clock }
    }
}

impl<K: KeySource, W: Clock> Embeddings<K, W> {
    /// Returns the limits of one request. Use them with [`batches`] to send batches concurrently.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Embeds the texts, one batch after the other, within `deadline`.
    ///
    /// # Errors
    ///
    /// The classified error of the provider, or [`Error::Malformed`] if the vectors don't match the request.
    pub async fn embed<T: AsRef<str> + Sync>(
        &self,
        model: &EmbeddingModel,
        texts: &[T],
        deadline: Duration,
    ) -> Result<EmbeddingBatch, Error> {
        let deadline = self.clock.now() + deadline.min(self.config.timeouts.total);
        let span = trace::call_span(gen_ai::EMBEDDINGS, &model.name, &self.config, self.url.host_str());
        let mut embedded = EmbeddingBatch { vectors: Vec::with_capacity(texts.len()), tokens: 0 };
        for range in batches(texts, self.limits) {
            let Some(batch) = texts.get(range) else { continue };
            let request = Bytes::from(body::request(model, batch)?);
            let outcome = timeout_at(deadline, self.embed_batch(&request, batch.len(), deadline))
                .instrument(span.clone());
            let part = outcome.await.unwrap_or(Err(Error::TimedOut));
            let part = part.inspect_err(|error| trace::record_error(&span, error))?;
            embedded.vectors.extend(part.vectors);
            embedded.tokens = embedded.tokens.saturating_add(part.tokens);
        }
        body::check_vectors(&embedded.vectors)?;
        Ok(embedded)
    }

    /// Embeds one batch. Retries until there are vectors, the retry policy gives up, or the key is rejected twice.
    async fn embed_batch(
        &self,
        request: &Bytes,
        texts: usize,
        deadline: tokio::time::Instant,
    ) -> Result<EmbeddingBatch, Error> {
        let Self { keys, clock, config, .. } = self;
        let mut retries =
            RetryLoop::start(keys, clock, config, deadline, contracts::log::EMBEDDING_CALL_FAILED).await?;
        loop {
            match self.attempt(request, texts, &retries.key, retries.prior_attempts).await {
                Ok(embedded) => return Ok(embedded),
                Err(failed) => retries.wait_for_next(failed, |_| {}).await?,
            }
        }
    }

    async fn attempt(
        &self,
        request: &Bytes,
        texts: usize,
        key: &ApiKey,
        prior_attempts: u32,
    ) -> Result<EmbeddingBatch, FailedAttempt> {
        let failed = |error| FailedAttempt::without_response(prior_attempts, error);
        let request = self
            .http
            .post(self.url.clone())
            .headers(self.config.headers(key).map_err(failed)?)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .headers(trace::propagation_headers())
            .body(request.clone());
        let request = authenticate(request, key, &self.config.key_location).map_err(failed)?;
        let sent = timeout(self.config.timeouts.first_byte, self.http.execute(request)).await;
        let sent = sent.map_err(|_| failed(Error::TimedOut))?;
        let response = sent.map_err(|error| {
            tracing::warn!(error = %causes(&error.without_url()), "{}", contracts::log::EMBEDDINGS_UNREACHABLE);
            failed(Error::UNAVAILABLE)
        })?;
        if !response.status().is_success() {
            return Err(ErrorResponse::read(response).await.into_attempt(prior_attempts, false));
        }
        let body = self.read_body(response, body::max_bytes(texts)).await.map_err(failed)?;
        // Unusable vectors are billed too, and a retry would most likely return the same.
        body::read(&body, texts).map_err(|error| FailedAttempt { has_output: true, ..failed(error) })
    }

    async fn read_body(&self, mut response: Response, max: usize) -> Result<Vec<u8>, Error> {
        let mut body = Body::new(response.headers(), max);
        loop {
            let piece = timeout(self.config.timeouts.idle, response.chunk()).await;
            let piece = piece.map_err(|_| Error::TimedOut)?.map_err(|error| {
                tracing::warn!(error = %causes(&error.without_url()), "{}", contracts::log::EMBEDDINGS_INTERRUPTED);
                Error::Malformed
            })?;
            let Some(piece) = piece else { return Ok(body.finish()) };
            body.push(&piece).map_err(|_| Error::Malformed)?;
        }
    }
}
