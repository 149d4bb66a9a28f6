//! The HTTP client of this crate, and errors of its requests.

use std::time::Duration;

use reqwest::{Client, redirect::Policy};

/// Time limit for opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit of a request. None of them waits for a model.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A server that doesn't answer.
#[derive(Debug, thiserror::Error)]
#[error("Can't reach {url}")]
pub struct Unreachable {
    url: String,
    #[source]
    source: reqwest::Error,
}

impl Unreachable {
    /// Returns the error of a request to this URL. The cause is kept without its URL, whose query may hold a secret.
    pub(crate) fn at(url: &str) -> impl FnOnce(reqwest::Error) -> Self {
        let url = url.to_owned();
        move |source| Self { url, source: source.without_url() }
    }
}

/// Returns a client that trusts the system's certificates and follows no redirect.
pub(crate) fn client() -> Client {
    let builder =
        Client::builder().connect_timeout(CONNECT_TIMEOUT).timeout(TIMEOUT).redirect(Policy::none());
    let builder = match tls::client_config() {
        Ok(config) => builder.tls_backend_preconfigured(config),
        Err(_) => builder,
    };
    builder.build().unwrap_or_default()
}
