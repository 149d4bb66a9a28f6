//! A channel: gRPC over the client that everything else here speaks HTTP with.
//!
//! The library of gRPC brings a client of its own, with TLS of its own. A function would hold two of each
//! (docs/decisions/0019-small-programs.md).

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use http::Uri;
use http_body_util::{BodyExt, combinators::MapErr};
use reqwest::{Client, redirect::Policy};
use tonic::{Status, body::Body, codegen::Service};

/// How long to wait for what. A request that got nowhere is sent once more over a new connection, since one that the
/// platform froze and thawed may be dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For a connection.
    pub connect: Duration,
    /// For one attempt of a request.
    pub attempt: Duration,
}

impl Patience {
    /// For a turn, which waits for all of retrieval no longer than two seconds.
    pub const OF_A_TURN: Self =
        Self { connect: Duration::from_millis(700), attempt: Duration::from_millis(900) };
    /// For an indexer, which has time.
    pub const OF_AN_INDEXER: Self =
        Self { connect: Duration::from_secs(10), attempt: Duration::from_secs(60) };
}

/// Why there is no database to ask.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// What is no URL of a gRPC server, such as `https://name.cloud.qdrant.io:6334`.
    #[error("the vector database's URL is not an http or https URL")]
    Url,
}

/// A server, and how it is reached.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) origin: Uri,
    patience: Patience,
}

impl Server {
    pub(crate) fn at(url: &str, patience: Patience) -> Result<Self, Unusable> {
        let url: Uri = url.parse().map_err(|_| Unusable::Url)?;
        match (url.scheme_str(), url.authority()) {
            (Some("http" | "https"), Some(_)) => Ok(Self { origin: url, patience }),
            _ => Err(Unusable::Url),
        }
    }

    /// A new channel. It connects with its first request.
    pub(crate) fn channel(&self) -> Result<Channel, Status> {
        let mut tls = tls::client_config().map_err(|_| Status::unavailable("no version of TLS"))?;
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let mut client = Client::builder()
            .tls_backend_preconfigured(tls)
            .http2_prior_knowledge()
            .redirect(Policy::none())
            .connect_timeout(self.patience.connect)
            .timeout(self.patience.attempt);
        // A proxy is asked for a tunnel where there is TLS, and otherwise knows no HTTP/2.
        if self.origin.scheme_str() == Some("http") {
            client = client.no_proxy();
        }
        client.build().map(Channel).map_err(failed)
    }
}

/// Connections to a server, as gRPC's clients take them.
#[derive(Debug, Clone)]
pub struct Channel(Client);

/// What a server answers, piece by piece.
pub(crate) type Answer = MapErr<reqwest::Body, fn(reqwest::Error) -> Status>;

impl Service<http::Request<Body>> for Channel {
    type Response = http::Response<Answer>;
    type Error = Status;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Status>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let client = self.0.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            // One message, which is in memory as it is.
            let request = http::Request::from_parts(head, body.collect().await?.to_bytes());
            let request = reqwest::Request::try_from(request).map_err(failed)?;
            let answer = client.execute(request).await.map_err(failed)?;
            Ok(http::Response::from(answer).map(|body| body.map_err(failed as fn(_) -> _)))
        })
    }
}

/// A failure as gRPC knows it, without the address.
fn failed(error: reqwest::Error) -> Status {
    if error.is_timeout() && !error.is_connect() {
        return Status::deadline_exceeded("no answer in time");
    }
    Status::unavailable("no answer")
}
