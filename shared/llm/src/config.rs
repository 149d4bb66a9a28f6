//! Where and how to ask, and how long to wait for what.

use std::time::Duration;

use agent::model::Error;
use reqwest::{Url, header::HeaderMap, redirect};

use crate::key::{ApiKey, KeyPlace};
use crate::retry::Policy;
use crate::{breaker, sse};

/// Where and how to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The API's base URL; the operation, as `/responses`, is added to its path, and a query stays.
    pub base: String,
    /// Where a request carries the key.
    pub key: KeyPlace,
    /// What else goes with every request.
    pub headers: HeaderMap,
    /// Whether the provider is told which requests are of one session and of one user, as hashes.
    pub tells_identifiers: bool,
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
    /// Who answers: the host of the base URL, which is no secret.
    ///
    /// # Errors
    ///
    /// [`Unusable::Base`] when the base URL is none.
    pub fn provider(&self) -> Result<String, Unusable> {
        self.endpoint("responses")?.host_str().map(str::to_owned).ok_or(Unusable::Base)
    }

    /// The URL of one of the API's operations.
    pub(crate) fn endpoint(&self, operation: &str) -> Result<Url, Unusable> {
        let mut url = Url::parse(&self.base).map_err(|_| Unusable::Base)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Unusable::Base);
        }
        url.path_segments_mut().map_err(|()| Unusable::Base)?.pop_if_empty().push(operation);
        Ok(url)
    }

    /// The headers of its own that every request to the provider carries, that with the key among them.
    pub(crate) fn headers(&self, key: &ApiKey) -> Result<HeaderMap, Error> {
        let mut headers = self.headers.clone();
        headers.extend(key.header(&self.key)?);
        Ok(headers)
    }

    /// A client with a pool of connections of its own, which has not connected yet.
    pub(crate) fn http(&self) -> Result<reqwest::Client, Unusable> {
        if !self.base.starts_with("http:") {
            tls::read_ahead();
        }
        reqwest::Client::builder()
            .tls_backend_preconfigured(tls::client_config().map_err(Unusable::Tls)?)
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
            key: KeyPlace::default(),
            headers: HeaderMap::new(),
            tells_identifiers: true,
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
    /// Its TLS could not.
    #[error("TLS could not be set up")]
    Tls(#[source] tls::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_added_before_a_query_and_only_web_addresses_will_do() {
        let url = |base: &str| {
            Config { base: base.to_owned(), ..Config::default() }.endpoint("responses").ok().map(Url::into)
        };
        for (base, expected) in [
            ("https://api.openai.com/v1", Some("https://api.openai.com/v1/responses")),
            ("http://localhost:11434/v1/", Some("http://localhost:11434/v1/responses")),
            (
                "https://x.openai.azure.com/openai/v1?api-version=preview",
                Some("https://x.openai.azure.com/openai/v1/responses?api-version=preview"),
            ),
            ("https://xn--bcher-kva.example/v1", Some("https://xn--bcher-kva.example/v1/responses")),
            // As no setting is: nothing here has Unicode's tables for the names of hosts.
            ("https://b\u{fc}cher.example/v1", None),
            ("localhost:11434", None),
            ("ftp://host/v1", None),
            ("", None),
        ] {
            assert_eq!(url(base), expected.map(str::to_owned), "{base}");
        }
    }
}
