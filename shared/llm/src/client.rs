//! Asks over HTTP: one POST per attempt, always streamed, so that waits can be bounded, text can be
//! forwarded and a reply can be ended early.
//!
//! Dropping a call's future drops its connection, which ends the generation upstream.

use std::time::Duration;

use agent::model::{Error, Model, Observer, Reply, Request};
use bytes::Bytes;
use contracts::error::causes;
use jiff::Timestamp;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Response, Url, redirect};
use tokio::time::{Instant, timeout, timeout_at};

use crate::failure::Refused;
use crate::fold::{Memory, Progress};
use crate::key::{ApiKey, Keys};
use crate::reader::Reader;
use crate::retry::headers::Advice;
use crate::retry::{Attempt, Policy};
use crate::wait::{Real, Wait};
use crate::wire::error::ErrorObject;
use crate::{builder, failure, raw, sse};

/// Where and how to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The API's base URL; `/responses` is added to its path.
    pub base: String,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// How often and how patiently to ask again.
    pub retry: Policy,
    /// The largest line and event of a stream.
    pub limits: sse::Limits,
}

impl Config {
    /// Who answers: the host of the base URL, which is no secret. The same provider at another port or
    /// path still has what it stored.
    ///
    /// # Errors
    ///
    /// [`Unusable::Base`] when the base URL is none.
    pub fn provider(&self) -> Result<String, Unusable> {
        let url = Url::parse(&self.base).map_err(|_| Unusable::Base)?;
        url.host_str().map(str::to_owned).ok_or(Unusable::Base)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            base: "https://api.openai.com/v1".to_owned(),
            timeouts: Timeouts::default(),
            retry: Policy::default(),
            limits: sse::Limits::default(),
        }
    }
}

/// How long to wait for what; the caller's deadline bounds all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// For the first byte of a response, and for each next one until the model writes: a model that
    /// reasons may be silent for longer than one that stalls in the middle of a sentence.
    pub first_byte: Duration,
    /// For each next byte once the model writes.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            first_byte: Duration::from_secs(120),
            idle: Duration::from_secs(60),
        }
    }
}

/// No call outlasts this, whatever its deadline; no function lives longer than a quarter of it.
const LONGEST_CALL: Duration = Duration::from_secs(60 * 60);

/// An error body that takes longer is done without.
const ERROR_BODY: Duration = Duration::from_secs(5);

/// The end of a stream follows its terminal event at once, and reading it lets the connection be used
/// again. One that doesn't come is not worth a wait.
const STREAM_END: Duration = Duration::from_millis(50);

/// Why no client could be made.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// The base URL is none.
    #[error("the model provider's base URL is not an http or https URL")]
    Base,
    /// The HTTP client could not be set up.
    #[error("the HTTP client could not be set up")]
    Http(#[source] reqwest::Error),
}

/// The model behind a Responses API. One client keeps one pool of connections.
#[derive(Debug, Clone)]
pub struct Client<K = ApiKey, W = Real> {
    http: reqwest::Client,
    url: Url,
    keys: K,
    config: Config,
    wait: W,
}

impl<K: Keys> Client<K> {
    /// A client that has not connected yet.
    ///
    /// # Errors
    ///
    /// [`Unusable`], which names the setting at fault.
    pub fn new(config: Config, keys: K) -> Result<Self, Unusable> {
        let url = format!("{}/responses", config.base.trim_end_matches('/'));
        let url = Url::parse(&url).map_err(|_| Unusable::Base)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Unusable::Base);
        }
        let http = reqwest::Client::builder()
            .connect_timeout(config.timeouts.connect)
            .redirect(redirect::Policy::none())
            .user_agent(concat!("aptix-serverless/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(Unusable::Http)?;
        Ok(Self { http, url, keys, config, wait: Real })
    }

    /// The same client with another way to wait.
    pub fn waiting<W: Wait>(self, wait: W) -> Client<K, W> {
        let Self { http, url, keys, config, wait: Real } = self;
        Client { http, url, keys, config, wait }
    }
}

impl<K: Keys, W: Wait> Client<K, W> {
    /// Asks until a response begins, the policy gives up, or the key is refused.
    async fn response(
        &self,
        body: Bytes,
        until: Instant,
        chained: bool,
        observer: &mut Observer<'_>,
    ) -> Result<Response, Error> {
        let mut key = self.keys.key(None).await?;
        let mut key_is_fresh = false;
        let mut before = 0;
        loop {
            let failed = match self.attempt(body.clone(), &key, before, chained, observer).await {
                Ok(response) => return Ok(response),
                Err(failed) => failed,
            };
            if failed.status == Some(401) && !key_is_fresh {
                key_is_fresh = true;
                let fresh = self.keys.key(Some(&key)).await?;
                if fresh != key {
                    key = fresh;
                    continue;
                }
            }
            let left = until.saturating_duration_since(self.wait.now());
            let wait = self.config.retry.wait(&failed, left, self.wait.chance());
            tracing::warn!(
                attempts_before = before,
                status = failed.status,
                error = %failed.error,
                retry_in_ms = wait.and_then(|wait| u64::try_from(wait.as_millis()).ok()),
                "a model call failed"
            );
            self.wait.sleep(wait.ok_or(failed.error)?).await;
            before += 1;
        }
    }

    async fn attempt(
        &self,
        body: Bytes,
        key: &ApiKey,
        before: u32,
        chained: bool,
        observer: &mut Observer<'_>,
    ) -> Result<Response, Attempt> {
        let failed = |error| Attempt { before, status: None, error, advice: Advice::default() };
        let request = self
            .http
            .post(self.url.clone())
            .header(AUTHORIZATION, key.header().map_err(failed)?)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream")
            .body(body);
        let sent = timeout(self.config.timeouts.first_byte, request.send()).await;
        let sent = sent.map_err(|_| failed(Error::TimedOut))?;
        // No response began, whether the connection failed or a pooled one turned out to be dead,
        // as it is after the platform froze and thawed the process.
        let response = sent.map_err(|error| {
            tracing::warn!(error = %causes(&error.without_url()), "the model provider can't be reached");
            failed(Error::UNAVAILABLE)
        })?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let advice = Advice::read(response.headers(), Timestamp::now());
        let body = timeout(ERROR_BODY, error_body(response)).await;
        let body = body.unwrap_or_default();
        raw::refused(observer, status.as_u16(), &body);
        let status = status.as_u16();
        let said = ErrorObject::of_body(&body);
        let refused = Refused { status, error: &said, retry_after: advice.retry_after, chained };
        Err(Attempt { before, status: Some(status), error: failure::of_refused(refused), advice })
    }

    async fn read(
        &self,
        mut response: Response,
        memory: Memory,
        observer: &mut Observer<'_>,
    ) -> Result<Reply, Error> {
        let mut reader = Reader::new(self.config.limits, memory);
        loop {
            let patience = match reader.has_text() {
                true => self.config.timeouts.idle,
                false => self.config.timeouts.first_byte,
            };
            let piece = timeout(patience, response.chunk()).await;
            let piece = piece.map_err(|_| Error::TimedOut)?;
            let piece = piece.map_err(|error| {
                tracing::warn!(error = %causes(&error.without_url()), "a model reply broke off");
                Error::Malformed
            })?;
            let Some(piece) = piece else { return Err(Error::Malformed) };
            // A stream that is always ready must not starve what shares the task: the caller's lease.
            tokio::task::yield_now().await;
            if let Progress::Done(reply) = reader.push(&piece, observer)? {
                let end = timeout(STREAM_END, response.chunk()).await;
                tracing::debug!(reusable = matches!(end, Ok(Ok(None))), "a model reply ended");
                return Ok(reply);
            }
        }
    }
}

impl<K: Keys, W: Wait> Model for Client<K, W> {
    async fn reply(
        &self,
        request: &Request,
        deadline: Duration,
        observer: &mut Observer<'_>,
    ) -> Result<Reply, Error> {
        let until = self.wait.now() + deadline.min(LONGEST_CALL);
        let body = serde_json::to_vec(&builder::build(request)).map_err(|_| Error::Malformed)?;
        let body = Bytes::from(body);
        let memory = Memory::of(request);
        raw::sent(observer, &body);
        let reply = async {
            let response = self.response(body, until, memory.recall, observer).await?;
            self.read(response, memory, observer).await
        };
        timeout_at(until, reply).await.unwrap_or(Err(Error::TimedOut))
    }
}

/// The start of an error's body, as far as it comes.
async fn error_body(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(piece)) = response.chunk().await {
        let room = failure::MOST_BODY - body.len();
        body.extend_from_slice(piece.get(..room).unwrap_or(&piece));
        if body.len() == failure::MOST_BODY {
            break;
        }
    }
    body
}
