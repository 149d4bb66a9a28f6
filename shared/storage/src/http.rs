//! How the SDK's clients speak HTTP: over the client that everything else here speaks it with.
//!
//! The SDK's own would be a second client in each function, with a second reading of whom the system trusts
//! (docs/decisions/0019-small-programs.md).

use std::{error::Error, sync::Arc, time::Duration};

use aws_sdk_s3::primitives::SdkBody;
use aws_smithy_runtime_api::client::{
    http::{HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector, http_client_fn},
    orchestrator::{HttpRequest, HttpResponse},
    result::ConnectorError,
};
use reqwest::{Body, Client, ClientBuilder, Request, redirect::Policy};
use turns::ports::Source;

use crate::Ahead;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(2);

/// One pool of connections, which connects to nothing yet.
pub(crate) type Pool = Ahead<SharedHttpConnector>;

/// A pool for the clients of all services. It trusts whom the system trusts, and knows the proxies of the environment.
pub(crate) fn pool() -> Pool {
    Ahead::new(|| connector(Client::builder()))
}

/// Clients of the SDK over this pool.
pub(crate) fn over(pool: Pool) -> SharedHttpClient {
    http_client_fn(move |_, _| SharedHttpConnector::clone(&pool))
}

/// Clients of the SDK over a pool of their own, past every proxy: for services on this machine.
#[must_use]
pub fn loopback_client() -> SharedHttpClient {
    over(Ahead::new(|| connector(Client::builder().no_proxy())))
}

fn connector(builder: ClientBuilder) -> SharedHttpConnector {
    SharedHttpConnector::new(Connector(client(builder).map_err(Arc::from)))
}

fn client(builder: ClientBuilder) -> Result<Client, Source> {
    let builder = builder.tls_backend_preconfigured(tls::client_config()?).connect_timeout(CONNECT);
    // Where S3 sends a request elsewhere, the SDK signs it anew.
    Ok(builder.redirect(Policy::none()).build()?)
}

/// Sends what the SDK has signed. How long an answer may take, and what is tried again, is for the SDK to say.
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
            let request = Request::try_from(request.map(Body::wrap)).map_err(failed)?;
            let response = client.execute(request).await.map_err(failed)?;
            let response = http::Response::from(response).map(SdkBody::from_body_1_x);
            HttpResponse::try_from(response).map_err(|error| ConnectorError::other(error.into(), None))
        })
    }
}

/// Nothing came back, so nobody knows what happened: to try again is what the SDK does then. The URL is a key, and so is left
/// out.
fn failed(error: reqwest::Error) -> ConnectorError {
    let kind = if error.is_builder() {
        ConnectorError::user
    } else if error.is_timeout() {
        ConnectorError::timeout
    } else {
        ConnectorError::io
    };
    kind(error.without_url().into())
}
