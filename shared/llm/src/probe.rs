//! A probe of the endpoint that turns call: it shows whether a provider has the route, accepts the credential and knows the
//! model, and costs nothing.
//!
//! The probe's conversation is a number, which every provider refuses before it calls a model.

use agent::model::Error;
use contracts::error::causes;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Response, Url};
use tokio::time::timeout;

use crate::auth::authenticate;
use crate::config::{Config, ConfigError};
use crate::error_response::ErrorResponse;
use crate::key::{ApiKey, KeySource};
use crate::provider_message::describe;
use crate::wire;

/// The answer to an operation that AWS doesn't know. Its status is 200.
const UNKNOWN_OPERATION: &[u8] = b"UnknownOperationException";

/// The result of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    /// The provider accepts requests, as far as can be told without one.
    Accepted,
    /// The provider doesn't answer. The text has the address and the cause.
    Unreachable(String),
    /// The provider rejects requests.
    Rejected {
        /// The HTTP status.
        status: u16,
        /// The provider's error code, if it looks like one.
        code: Option<String>,
        /// The classified error.
        error: Error,
        /// The provider's address and message.
        description: String,
    },
    /// There is no such route. The text has the address and the message.
    NoRoute(String),
}

/// Probes the provider with this model.
///
/// # Errors
///
/// [`ConfigError`] if the configuration is invalid.
pub async fn probe<K: KeySource>(config: &Config, keys: &K, model: &str) -> Result<Probe, ConfigError> {
    let url = config.endpoint_url(&wire::operation(config.wire, model))?;
    let http = config.http_client()?;
    let Ok(key) = keys.key(None).await else {
        return Ok(Probe::Unreachable(format!("{}: there is no credential", url.path())));
    };
    let request = http
        .post(url.clone())
        .headers(wire::headers(config.wire))
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json")
        .body(wire::probe_body(config.wire, model));
    let request = config.headers(&key).map(|headers| request.headers(headers));
    let request = request.and_then(|request| authenticate(request, &key, &config.key_location));
    let request = match request {
        Ok(request) => request,
        Err(error) => return Ok(Probe::Unreachable(describe(&url, None, &error.to_string(), &key))),
    };
    // A server may be slow to refuse while it loads the model. It is reachable, so turns will tell.
    let Ok(sent) = timeout(config.timeouts.first_byte, http.execute(request)).await else {
        return Ok(Probe::Accepted);
    };
    Ok(match sent {
        Ok(response) if response.status().is_success() => read_success(response, &url, &key).await,
        Ok(response) => read_error(ErrorResponse::read(response).await, &url, &key),
        Err(error) => {
            Probe::Unreachable(describe(&url, None, &causes(&error.without_url()).to_string(), &key))
        }
    })
}

async fn read_success(response: Response, url: &Url, key: &ApiKey) -> Probe {
    let response = ErrorResponse::read(response).await;
    let names_operation =
        |body: &[u8]| body.windows(UNKNOWN_OPERATION.len()).any(|it| it == UNKNOWN_OPERATION);
    if names_operation(&response.body) {
        return Probe::NoRoute(describe(url, Some(response.status), "UnknownOperationException", key));
    }
    Probe::Accepted
}

fn read_error(response: ErrorResponse, url: &Url, key: &ApiKey) -> Probe {
    let status = response.status;
    let failed = response.into_attempt(0, false);
    let description = describe(url, Some(status), failed.message.as_deref().unwrap_or_default(), key);
    match failed.error {
        Error::Rejected { status: 404 | 405 } => Probe::NoRoute(description),
        // The refusal of the probe's input, and problems that a later request may not have.
        Error::Rejected { .. }
        | Error::ParameterRejected { .. }
        | Error::UnsupportedFeature { .. }
        | Error::ChainLost
        | Error::ContextTooLong
        | Error::AttachmentRefused
        | Error::ContentFiltered
        | Error::RateLimited { .. }
        | Error::Unavailable { .. }
        | Error::TimedOut
        | Error::Malformed
        | Error::Incomplete
        | Error::Empty => Probe::Accepted,
        error @ (Error::QuotaExceeded
        | Error::Unauthenticated
        | Error::UnknownProvider
        | Error::ModelNotFound) => Probe::Rejected { status, code: failed.info.code, error, description },
    }
}
