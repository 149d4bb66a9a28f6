//! Vectors of texts: `POST {base}/embeddings` of an OpenAI-compatible provider.
//!
//! Texts go in batches that a provider takes; a batch that failed is asked for again as a model call is. What comes
//! back is held to what was asked: one vector per text, all of one length, finite. Deliberately absent: which model
//! is asked, and what the vectors are for.

mod batch;
mod body;

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Response, Url};
use tokio::time::{timeout, timeout_at};
use tracing::Instrument;

use agent::model::Error;
use contracts::error::causes;

use crate::config::{Config, Unusable};
use crate::key::{ApiKey, Keys};
use crate::refusal::Refusal;
use crate::retry::Attempt;
use crate::retrying::Retrying;
use crate::trace;
use crate::wait::{Real, Wait};

pub use agent::retrieval::EmbeddingModel;
pub use batch::{Limits, batches};

/// What texts came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    /// A vector per text, in the texts' order.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens used, as the provider tells; 0 when it does not.
    pub tokens: u64,
}

/// Embeddings of one provider. One client keeps one pool of connections.
#[derive(Debug)]
pub struct Embeddings<K = ApiKey, W = Real> {
    http: reqwest::Client,
    url: Url,
    keys: K,
    config: Config,
    limits: Limits,
    wait: W,
}

impl<K: Keys> Embeddings<K> {
    /// A client that has not connected yet. Of the configuration count the base, key and headers, the waits and the retries.
    ///
    /// # Errors
    ///
    /// [`Unusable`], which names the setting at fault.
    pub fn new(config: Config, limits: Limits, keys: K) -> Result<Self, Unusable> {
        let (url, http) = (config.endpoint("embeddings")?, config.http()?);
        Ok(Self { http, url, keys, config, limits, wait: Real })
    }

    /// The same client with another way to wait.
    pub fn waiting<W: Wait>(self, wait: W) -> Embeddings<K, W> {
        let Self { http, url, keys, config, limits, wait: Real } = self;
        Embeddings { http, url, keys, config, limits, wait }
    }
}

impl<K: Keys, W: Wait> Embeddings<K, W> {
    /// What one request may hold; whoever sends batches side by side cuts them with [`batches`].
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// A vector per text, batch after batch, all within `deadline`.
    ///
    /// # Errors
    ///
    /// What the provider said, by its name: [`Error::Malformed`] also where it sent other vectors than were asked
    /// for.
    pub async fn embed<T: AsRef<str> + Sync>(
        &self,
        model: &EmbeddingModel,
        texts: &[T],
        deadline: Duration,
    ) -> Result<Embedded, Error> {
        let until = self.wait.now() + deadline.min(self.config.timeouts.total);
        let span = trace::of_call("embeddings", &model.name, self.url.host_str());
        let mut embedded = Embedded { vectors: Vec::with_capacity(texts.len()), tokens: 0 };
        for range in batches(texts, self.limits) {
            let Some(batch) = texts.get(range) else { continue };
            let request = Bytes::from(body::request(model, batch)?);
            let asked = timeout_at(until, self.ask(&request, batch.len(), until)).instrument(span.clone());
            let part = asked.await.unwrap_or(Err(Error::TimedOut));
            let part = part.inspect_err(|error| trace::failed(&span, error))?;
            embedded.vectors.extend(part.vectors);
            embedded.tokens = embedded.tokens.saturating_add(part.tokens);
        }
        body::of_one_length(&embedded.vectors)?;
        Ok(embedded)
    }

    /// Asks until the vectors are there, the policy gives up, or the key is refused twice.
    async fn ask(
        &self,
        request: &Bytes,
        texts: usize,
        until: tokio::time::Instant,
    ) -> Result<Embedded, Error> {
        let Self { keys, wait, config, .. } = self;
        let mut retrying = Retrying::begin(keys, wait, config, until, "a call for embeddings failed").await?;
        loop {
            match self.attempt(request, texts, &retrying.key, retrying.before).await {
                Ok(embedded) => return Ok(embedded),
                Err(failed) => retrying.after(failed, |_| {}).await?,
            }
        }
    }

    async fn attempt(
        &self,
        request: &Bytes,
        texts: usize,
        key: &ApiKey,
        before: u32,
    ) -> Result<Embedded, Attempt> {
        let failed = |error| Attempt::without_response(before, error);
        let request = self
            .http
            .post(self.url.clone())
            .headers(self.config.headers(key).map_err(failed)?)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .headers(trace::headers())
            .body(request.clone());
        let sent = timeout(self.config.timeouts.first_byte, request.send()).await;
        let sent = sent.map_err(|_| failed(Error::TimedOut))?;
        let response = sent.map_err(|error| {
            tracing::warn!(error = %causes(&error.without_url()), "the provider of embeddings can't be reached");
            failed(Error::UNAVAILABLE)
        })?;
        if !response.status().is_success() {
            return Err(Refusal::read(response).await.attempt(before, false));
        }
        let whole = self.whole(response, body::most_bytes(texts)).await.map_err(failed)?;
        // What can't be used was paid for all the same: asking again would most likely bring the same.
        body::read(&whole, texts).map_err(|error| Attempt { has_output: true, ..failed(error) })
    }

    async fn whole(&self, mut response: Response, most: usize) -> Result<Vec<u8>, Error> {
        let mut whole = Vec::new();
        loop {
            let piece = timeout(self.config.timeouts.idle, response.chunk()).await;
            let piece = piece.map_err(|_| Error::TimedOut)?.map_err(|error| {
                tracing::warn!(error = %causes(&error.without_url()), "a reply with embeddings broke off");
                Error::Malformed
            })?;
            let Some(piece) = piece else { return Ok(whole) };
            if whole.len().saturating_add(piece.len()) > most {
                return Err(Error::Malformed);
            }
            whole.extend_from_slice(&piece);
        }
    }
}
