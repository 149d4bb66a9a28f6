//! Where and how to ask, and how long to wait for what.

use std::time::Duration;

use reqwest::{Url, redirect};

use crate::retry::Policy;
use crate::{breaker, sse};

/// Where and how to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The API's base URL; the operation, as `/responses`, is added to its path.
    pub base: String,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// How often and how patiently to ask again.
    pub retry: Policy,
    /// When not to ask at all.
    pub breaker: breaker::Policy,
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

impl Config {
    /// The URL of one of the API's operations.
    pub(crate) fn endpoint(&self, operation: &str) -> Result<Url, Unusable> {
        let url = format!("{}/{operation}", self.base.trim_end_matches('/'));
        let url = Url::parse(&url).map_err(|_| Unusable::Base)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Unusable::Base);
        }
        Ok(url)
    }

    /// A client with a pool of connections of its own, which has not connected yet.
    pub(crate) fn http(&self) -> Result<reqwest::Client, Unusable> {
        reqwest::Client::builder()
            .connect_timeout(self.timeouts.connect)
            .redirect(redirect::Policy::none())
            .user_agent(concat!("aptix-serverless/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(Unusable::Http)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            base: "https://api.openai.com/v1".to_owned(),
            timeouts: Timeouts::default(),
            retry: Policy::default(),
            breaker: breaker::Policy::default(),
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
    /// For the whole call, retries included.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            first_byte: Duration::from_secs(120),
            idle: Duration::from_secs(60),
            total: Duration::from_secs(840),
        }
    }
}

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
