//! A channel: one connection for gRPC, plain or over TLS, made when it is first used and again when it broke.
//!
//! TLS is that of everything else here, rustls on aws-lc, and not the one that the library of gRPC brings along: a
//! function would hold both sets of primitives. So the library is told of a plain address, and of a connector that knows
//! better.

use std::{io, time::Duration};

use http::Uri;
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::connect::HttpConnector;
use tonic::transport::{Channel, Endpoint};
use tower::{Service, service_fn};

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
    uri: Uri,
    endpoint: Endpoint,
}

impl Server {
    pub(crate) fn at(url: &str, patience: Patience) -> Result<Self, Unusable> {
        let uri: Uri = url.parse().map_err(|_| Unusable::Url)?;
        let authority = uri.authority().filter(|_| matches!(uri.scheme_str(), Some("http" | "https")));
        let plain = Uri::builder().scheme("http").authority(authority.ok_or(Unusable::Url)?.clone());
        let plain = plain.path_and_query("/").build().map_err(|_| Unusable::Url)?;
        let endpoint = Endpoint::from(plain)
            .origin(uri.clone())
            .connect_timeout(patience.connect)
            .timeout(patience.attempt);
        Ok(Self { uri, endpoint })
    }

    /// A new channel. It connects with its first request.
    pub(crate) fn channel(&self) -> io::Result<Channel> {
        if self.uri.scheme_str() == Some("http") {
            return Ok(self.endpoint.connect_lazy());
        }
        let tls = tls::client_config().map_err(io::Error::other)?;
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let https = HttpsConnectorBuilder::new().with_tls_config(tls).https_only().enable_http2();
        let (mut https, uri) = (https.wrap_connector(tcp), self.uri.clone());
        let connect = service_fn(move |_: Uri| https.call(uri.clone()));
        Ok(self.endpoint.connect_with_connector_lazy(connect))
    }
}
