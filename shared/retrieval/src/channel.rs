//! A gRPC channel over the HTTP client that the rest of the service uses.
//!
//! The gRPC library has its own client and its own TLS stack. With it, a function would contain two of each
//! (docs/internals/decisions/0019-small-programs.md).

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use http::Uri;
use http_body_util::{BodyExt, combinators::MapErr};
use reqwest::{Client, redirect::Policy};
use tonic::{Status, body::Body, codegen::Service};

/// Timeouts of a connection. A request that fails to reach the server is sent once more over a new connection, since
/// a connection that the platform froze and thawed may be dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QdrantTimeouts {
    /// The timeout for connecting.
    pub connect: Duration,
    /// The timeout for one attempt of a request.
    pub attempt: Duration,
}

impl QdrantTimeouts {
    /// Timeouts for a turn, which waits at most two seconds for all of retrieval.
    pub const TURN: Self = Self { connect: Duration::from_millis(700), attempt: Duration::from_millis(900) };
    /// Timeouts for an indexer, which isn't in a hurry.
    pub const INDEXER: Self = Self { connect: Duration::from_secs(10), attempt: Duration::from_secs(60) };
}

/// The URL of the vector database is invalid.
#[derive(Debug, thiserror::Error)]
pub enum InvalidUrl {
    /// Not the http or https URL of a gRPC server. A valid one is `https://name.cloud.qdrant.io:6334`.
    #[error("the vector database's URL is not an http or https URL")]
    NotHttp,
}

/// A server's address and timeouts.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) origin: Uri,
    timeouts: QdrantTimeouts,
}

impl Server {
    pub(crate) fn new(url: &str, timeouts: QdrantTimeouts) -> Result<Self, InvalidUrl> {
        let url: Uri = url.parse().map_err(|_| InvalidUrl::NotHttp)?;
        match (url.scheme_str(), url.authority()) {
            (Some("http" | "https"), Some(_)) => Ok(Self { origin: url, timeouts }),
            _ => Err(InvalidUrl::NotHttp),
        }
    }

    /// Creates a channel, which connects with its first request.
    pub(crate) fn channel(&self) -> Result<Channel, Status> {
        let mut tls = tls::client_config().map_err(|_| Status::unavailable("no version of TLS"))?;
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let mut client = Client::builder()
            .tls_backend_preconfigured(tls)
            .http2_prior_knowledge()
            .redirect(Policy::none())
            .connect_timeout(self.timeouts.connect)
            .timeout(self.timeouts.attempt);
        // With TLS, a proxy opens a tunnel. Without it, a proxy doesn't support HTTP/2, so use none.
        if self.origin.scheme_str() == Some("http") {
            client = client.no_proxy();
        }
        client.build().map(Channel).map_err(to_status)
    }
}

/// A connection pool as the transport of gRPC clients.
#[derive(Debug, Clone)]
pub struct Channel(Client);

/// A streamed response body.
pub(crate) type ResponseBody = MapErr<reqwest::Body, fn(reqwest::Error) -> Status>;

impl Service<http::Request<Body>> for Channel {
    type Response = http::Response<ResponseBody>;
    type Error = Status;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Status>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let client = self.0.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            // A request is one message that is in memory already.
            let request = http::Request::from_parts(head, body.collect().await?.to_bytes());
            let request = reqwest::Request::try_from(request).map_err(to_status)?;
            let response = client.execute(request).await.map_err(to_status)?;
            Ok(http::Response::from(response).map(|body| body.map_err(to_status as fn(_) -> _)))
        })
    }
}

/// Converts an error into a gRPC status, without the address.
fn to_status(error: reqwest::Error) -> Status {
    if error.is_timeout() && !error.is_connect() {
        return Status::deadline_exceeded("no answer in time");
    }
    Status::unavailable("no answer")
}
