//! HTTP for the SDK's clients, over the same client that everything else uses.
//!
//! The SDK's own would be a second HTTP client in each function, and would load the system's certificates a second
//! time (docs/internals/decisions/0019-small-programs.md).

use std::{error::Error, sync::Arc, time::Duration};

use aws_sdk_s3::primitives::SdkBody;
use aws_smithy_runtime_api::client::{
    http::{HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector, http_client_fn},
    orchestrator::{HttpRequest, HttpResponse},
    result::ConnectorError,
};
use reqwest::{Body, Client, ClientBuilder, Request, redirect::Policy};
use turns::ports::Source;

use crate::Prewarmed;

/// The time limit for opening a connection. Leaves time for one lost packet, which is sent again after a second.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// A connection pool. It connects lazily.
pub(crate) type Pool = Prewarmed<SharedHttpConnector>;

/// Creates the pool for all clients. It uses the system's certificates and the environment's proxies.
pub(crate) fn pool() -> Pool {
    Prewarmed::new(|| connector(Client::builder()))
}

/// Returns an SDK client over this pool.
pub(crate) fn shared_client(pool: Pool) -> SharedHttpClient {
    http_client_fn(move |_, _| SharedHttpConnector::clone(&pool))
}

/// Returns an SDK client with its own pool.
pub(crate) fn default_client() -> SharedHttpClient {
    shared_client(pool())
}

/// Returns an SDK client with its own pool that bypasses proxies, for services on this machine.
#[must_use]
pub fn loopback_client() -> SharedHttpClient {
    shared_client(Prewarmed::new(|| connector(Client::builder().no_proxy())))
}

/// Returns an HTTP client that bypasses proxies, for services on this machine.
pub(crate) fn loopback() -> Result<Client, Source> {
    client(Client::builder().no_proxy())
}

fn connector(builder: ClientBuilder) -> SharedHttpConnector {
    SharedHttpConnector::new(Connector(client(builder).map_err(Arc::from)))
}

fn client(builder: ClientBuilder) -> Result<Client, Source> {
    let builder = builder.tls_backend_preconfigured(tls::client_config()?).connect_timeout(CONNECT_TIMEOUT);
    // If S3 redirects a request, the SDK has to sign it again.
    Ok(builder.redirect(Policy::none()).build()?)
}

/// Sends requests that the SDK has signed. Timeouts and retries are up to the SDK.
#[derive(Debug)]
struct Connector(Result<Client, Arc<dyn Error + Send + Sync>>);

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let client = match &self.0 {
            Ok(client) => client.clone(),
            Err(error) => {
                return HttpConnectorFuture::ready(Err(ConnectorError::user(Arc::clone(error).into())));
            }
        };
        HttpConnectorFuture::new(async move {
            let request = request.try_into_http1x().map_err(|error| ConnectorError::user(error.into()))?;
            let request = Request::try_from(request.map(Body::wrap)).map_err(connector_error)?;
            let response = client.execute(request).await.map_err(connector_error)?;
            let response = http::Response::from(response).map(SdkBody::from_body_1_x);
            HttpResponse::try_from(response).map_err(|error| ConnectorError::other(error.into(), None))
        })
    }
}

/// Converts the error of a request without a response. Its effect is unknown, so the SDK retries it. Leaves out the
/// URL, which may contain a key.
fn connector_error(error: reqwest::Error) -> ConnectorError {
    let kind = if error.is_builder() {
        ConnectorError::user
    } else if error.is_timeout() {
        ConnectorError::timeout
    } else {
        ConnectorError::io
    };
    kind(error.without_url().into())
}
