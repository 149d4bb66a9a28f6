//! The configuration of a provider: URL, key, headers, timeouts and retries.

use std::time::Duration;

use agent::model::{Error, Wire};
use reqwest::{
    Url,
    header::{HeaderMap, HeaderName},
    redirect,
};
use serde::Deserialize;

use crate::key::{ApiKey, KeyLocation};
use crate::retry::Policy;
use crate::sse;

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
    /// The types of tools besides functions that clients may bring. `None`: the default of the host.
    pub tool_types: Option<Vec<ToolType>>,
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

    /// True if the provider has freeform tools. By default OpenAI's own hosts and Azure's have them.
    #[must_use]
    pub fn has_freeform_tools(&self) -> bool {
        self.wire == Wire::Responses
            && self.tool_types.as_ref().map_or_else(
                || self.provider_host().is_ok_and(|host| is_openai(&host)),
                |tools| tools.contains(&ToolType::Custom),
            )
    }

    /// True if the provider searches the web for clients that bring the tool. Searches cost money and send words of the
    /// chat to others, so an operator declares it.
    #[must_use]
    pub fn searches_web(&self) -> bool {
        let declared = self.tool_types.as_deref().unwrap_or_default();
        self.wire == Wire::Responses && declared.contains(&ToolType::WebSearch)
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

/// True if a host is OpenAI's own or Azure's.
fn is_openai(host: &str) -> bool {
    host == "api.openai.com"
        || host.ends_with(".openai.azure.com")
        || host.ends_with(".services.ai.azure.com")
}

/// A type of tools besides functions that clients may bring to a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolType {
    /// A freeform tool, which the client runs.
    Custom,
    /// A web search, which the provider runs.
    WebSearch,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            base_url: "https://api.openai.com/v1".to_owned(),
            wire: Wire::default(),
            key_location: KeyLocation::default(),
            headers: HeaderMap::new(),
            send_identifiers: true,
            tool_types: None,
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
    fn tool_types_are_those_of_the_host_or_the_declaration() {
        let config = |base: &str, wire, tool_types: Option<&[ToolType]>| {
            let tool_types = tool_types.map(<[ToolType]>::to_vec);
            let config = Config { base_url: base.to_owned(), wire, tool_types, ..Config::default() };
            (config.has_freeform_tools(), config.searches_web())
        };
        let (openai, azure) = ("https://api.openai.com/v1", "https://x.openai.azure.com/openai/v1");
        let both: &[ToolType] = &[ToolType::Custom, ToolType::WebSearch];
        for (base, wire, declared, expected) in [
            (openai, Wire::Responses, None, (true, false)),
            (azure, Wire::Responses, None, (true, false)),
            (openai, Wire::ChatCompletions, None, (false, false)),
            (openai, Wire::Responses, Some(&[][..]), (false, false)),
            ("https://api.openai.com.evil.example/v1", Wire::Responses, None, (false, false)),
            ("http://127.0.0.1:8000/v1", Wire::Responses, None, (false, false)),
            ("http://127.0.0.1:8000/v1", Wire::Responses, Some(both), (true, true)),
            ("http://127.0.0.1:8000/v1", Wire::AnthropicMessages, Some(both), (false, false)),
        ] {
            assert_eq!(config(base, wire, declared), expected, "{base} {wire:?} {declared:?}");
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
