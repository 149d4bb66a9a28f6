//! The configuration of a provider: URL, key, headers, timeouts and retries.

use std::time::Duration;

use agent::model::{Error, Wire};
use reqwest::{
    Url,
    header::{HeaderMap, HeaderName},
    redirect,
};

use crate::key::{ApiKey, KeyLocation};
use crate::retry::Policy;
use crate::{breaker, sse};

/// The configuration of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The API's base URL. Requests append the operation, such as `/responses`, to its path and keep its query.
    pub base_url: String,
    /// The API that the provider offers.
    pub wire: Wire,
    /// The place of the key in a request.
    pub key_location: KeyLocation,
    /// Additional headers of every request.
    pub headers: HeaderMap,
    /// Set to send hashes that identify the session and the user.
    pub send_identifiers: bool,
    /// Set to describe failures with the provider's message, on a developer's machine.
    pub shows_messages: bool,
    /// The timeouts.
    pub timeouts: Timeouts,
    /// The retry policy.
    pub retry: Policy,
    /// The circuit breaker policy.
    pub breaker: breaker::Policy,
    /// The size limits of a stream.
    pub limits: sse::Limits,
}

impl Config {
    /// Returns the defaults for a wire, which determines the place of the key. Identifiers are only sent on a wire whose
    /// servers all accept them.
    #[must_use]
    pub fn for_wire(wire: Wire) -> Self {
        let key_location = match wire {
            Wire::Responses | Wire::ChatCompletions | Wire::BedrockConverse => KeyLocation::Bearer,
            Wire::AnthropicMessages => KeyLocation::Header(HeaderName::from_static("x-api-key")),
        };
        Self { wire, key_location, send_identifiers: wire != Wire::ChatCompletions, ..Self::default() }
    }

    /// Returns the host of the base URL, which identifies the provider and is no secret.
    ///
    /// # Errors
    ///
    /// [`ConfigError::BaseUrl`] if the base URL is invalid.
    pub fn provider_host(&self) -> Result<String, ConfigError> {
        self.endpoint_url("responses")?.host_str().map(str::to_owned).ok_or(ConfigError::BaseUrl)
    }

    /// Returns the URL of an API operation: a path without a leading slash, percent-encoded.
    pub(crate) fn endpoint_url(&self, operation: &str) -> Result<Url, ConfigError> {
        let mut url = Url::parse(&self.base_url).map_err(|_| ConfigError::BaseUrl)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(ConfigError::BaseUrl);
        }
        let path = format!("{}/{operation}", url.path().strip_suffix('/').unwrap_or(url.path()));
        url.set_path(&path);
        Ok(url)
    }

    /// Returns the configured headers of every request, including the one with the key.
    pub(crate) fn headers(&self, key: &ApiKey) -> Result<HeaderMap, Error> {
        let mut headers = self.headers.clone();
        headers.extend(key.header(&self.key_location)?);
        Ok(headers)
    }

    /// Creates an HTTP client with its own connection pool, without connecting.
    ///
    /// # Errors
    ///
    /// [`ConfigError`], if the client can't be created.
    pub fn http_client(&self) -> Result<reqwest::Client, ConfigError> {
        if !self.base_url.starts_with("http:") {
            tls::preload_roots();
        }
        reqwest::Client::builder()
            .tls_backend_preconfigured(tls::client_config().map_err(ConfigError::Tls)?)
            .connect_timeout(self.timeouts.connect)
            .redirect(redirect::Policy::none())
            .user_agent(concat!("aptix-serverless/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(ConfigError::HttpClient)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            base_url: "https://api.openai.com/v1".to_owned(),
            wire: Wire::default(),
            key_location: KeyLocation::default(),
            headers: HeaderMap::new(),
            send_identifiers: true,
            shows_messages: false,
            timeouts: Timeouts::default(),
            retry: Policy::default(),
            breaker: breaker::Policy::default(),
            limits: sse::Limits::default(),
        }
    }
}

/// The timeouts of a call. The caller's deadline bounds all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// The timeout for connecting.
    pub connect: Duration,
    /// The timeout for the first byte of a response, and between bytes until the model writes text. A reasoning model
    /// may be silent for long before its first word.
    pub first_byte: Duration,
    /// The timeout between bytes once the model writes text.
    pub idle: Duration,
    /// The timeout of the whole call, retries included.
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

/// An error in the configuration of a client.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The base URL is invalid.
    #[error("the model provider's base URL is not an http or https URL")]
    BaseUrl,
    /// The HTTP client can't be created.
    #[error("can't create the HTTP client")]
    HttpClient(#[source] reqwest::Error),
    /// TLS can't be set up.
    #[error("can't set up TLS")]
    Tls(#[source] tls::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoint_url_keeps_the_query_and_requires_http() {
        let url = |base: &str| {
            Config { base_url: base.to_owned(), ..Config::default() }
                .endpoint_url("responses")
                .ok()
                .map(Url::into)
        };
        for (base, expected) in [
            ("https://api.openai.com/v1", Some("https://api.openai.com/v1/responses")),
            ("http://localhost:11434/v1/", Some("http://localhost:11434/v1/responses")),
            (
                "https://x.openai.azure.com/openai/v1?api-version=preview",
                Some("https://x.openai.azure.com/openai/v1/responses?api-version=preview"),
            ),
            ("https://xn--bcher-kva.example/v1", Some("https://xn--bcher-kva.example/v1/responses")),
            ("https://b\u{fc}cher.example/v1", Some("https://xn--bcher-kva.example/v1/responses")),
            ("localhost:11434", None),
            ("ftp://host/v1", None),
            ("", None),
        ] {
            assert_eq!(url(base), expected.map(str::to_owned), "{base}");
        }
    }

    #[test]
    fn endpoint_url_keeps_an_encoded_operation() {
        let config = Config { base_url: "https://h/b%20c/".to_owned(), ..Config::default() };
        let url = config.endpoint_url("model/a%3A1%2Fb/converse-stream").unwrap();
        assert_eq!(url.as_str(), "https://h/b%20c/model/a%3A1%2Fb/converse-stream");
        let config = Config { base_url: "https://h".to_owned(), ..Config::default() };
        assert_eq!(config.endpoint_url("models").unwrap().as_str(), "https://h/models");
    }
}
