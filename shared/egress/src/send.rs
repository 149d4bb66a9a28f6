//! Sends one request over a connection of its own.

use std::{net::SocketAddr, pin::pin, time::Duration};

use ::url::Url;
use bytes::{Bytes, BytesMut};
use futures::future::{Either, select};
use http::{HeaderMap, HeaderValue, Request, StatusCode, header, uri::PathAndQuery};
use http_body::Body;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::{
    net::TcpStream,
    time::{Instant, timeout, timeout_at},
};
use tokio_rustls::TlsConnector;

use crate::{
    guard::{Guard, Target},
    parked::Connection,
    refusal::Refusal,
};

/// The longest time for one attempt to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The most bytes of the response's head.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// The most headers of a response.
const MAX_HEADERS: usize = 128;

/// The bounds of an exchange.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The longest time, from the lookup to the last byte of the response.
    pub time: Duration,
    /// The most bytes of the response's body.
    pub body_bytes: usize,
}

/// A response that arrived whole.
#[derive(Debug, Clone)]
pub struct Response {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, as it was sent.
    pub body: Bytes,
}

/// A request without a whole response. The texts never name the URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The guard refuses the URL. Nothing was sent.
    #[error("the URL {0}")]
    Refused(#[from] Refusal),
    /// No connection was made. Nothing was sent.
    #[error("can't connect: {0}")]
    NotConnected(&'static str),
    /// The sender was no longer allowed to send. Nothing was sent.
    #[error("the turn no longer runs here")]
    NotAllowed,
    /// The request was sent, and the response isn't whole.
    #[error("no whole response: {0}")]
    Broken(&'static str),
}

impl Failure {
    /// True if not even a byte of the request was written.
    #[must_use]
    pub fn is_unsent(&self) -> bool {
        !matches!(self, Self::Broken(_))
    }
}

impl Guard {
    /// Sends a request to a URL at most once, over a connection of its own, and returns the whole response.
    ///
    /// `may_send` is asked right before the request is written, with no `await` in between. If it says no, the connection
    /// waits two seconds for another call to the host, which then needs no handshake. The request's URI is set from the
    /// URL.
    ///
    /// # Errors
    /// Fails as [`Failure`] says.
    pub async fn send(
        &self,
        url: &str,
        request: Request<Bytes>,
        bounds: Bounds,
        may_send: &(dyn Fn() -> bool + Send + Sync),
    ) -> Result<Response, Failure> {
        let deadline = Instant::now().checked_add(bounds.time).ok_or(Failure::NotConnected("no time"))?;
        let place = self.check(url)?;
        let stream = match self.parked.take(&place) {
            Some(stream) => stream,
            None => {
                let connect = async { self.connect(&self.resolve(url).await?).await };
                let connected = timeout_at(deadline, connect).await;
                connected.map_err(|_| Failure::NotConnected("the time is over"))??
            }
        };
        let request = addressed(request, &place)?;
        let park = |stream| self.parked.put(place.clone(), stream);
        exchange(stream, request, bounds.body_bytes, deadline, may_send, park).await
    }

    /// Connects to the first address that accepts, with TLS for `https`.
    async fn connect(&self, target: &Target) -> Result<Connection, Failure> {
        let tcp = open(&target.addresses).await?;
        if target.url.scheme() == "http" {
            return Ok(Box::pin(tcp));
        }
        let config = self.tls.clone().ok_or(Failure::NotConnected("TLS is not available"))?;
        let host =
            target.url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches([']', '.']);
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| Failure::NotConnected("the host has no name"))?;
        let tls = timeout(CONNECT_TIMEOUT, TlsConnector::from(config).connect(name, tcp)).await;
        match tls {
            Ok(Ok(stream)) => Ok(Box::pin(stream)),
            Ok(Err(_)) => {
                Err(Failure::NotConnected("the host has no valid certificate, or doesn't speak TLS"))
            }
            Err(_) => Err(Failure::NotConnected("the host doesn't respond")),
        }
    }
}

async fn open(addresses: &[SocketAddr]) -> Result<TcpStream, Failure> {
    for address in addresses {
        if let Ok(Ok(stream)) = timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
            // A request is written in one piece.
            let _ = stream.set_nodelay(true);
            return Ok(stream);
        }
    }
    Err(Failure::NotConnected("the host doesn't accept connections"))
}

/// Sets the path, the host and the headers of a single exchange.
fn addressed(mut request: Request<Bytes>, url: &Url) -> Result<Request<Full<Bytes>>, Failure> {
    let invalid = |_| Failure::NotConnected("the URL is not valid in a request");
    let path = url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
    *request.uri_mut() = PathAndQuery::try_from(path).map_err(|_| invalid(()))?.into();
    let host = url.host_str().unwrap_or_default();
    let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let host = HeaderValue::try_from(host).map_err(|_| invalid(()))?;
    let headers = request.headers_mut();
    headers.insert(header::HOST, host);
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    // A compressed response could be a thousand times its size.
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    Ok(request.map(Full::new))
}

async fn exchange(
    stream: Connection,
    request: Request<Full<Bytes>>,
    body_bytes: usize,
    deadline: Instant,
    may_send: &(dyn Fn() -> bool + Send + Sync),
    park: impl FnOnce(Connection),
) -> Result<Response, Failure> {
    let handshake = http1::Builder::new()
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD_BYTES)
        .handshake::<_, Full<Bytes>>(TokioIo::new(stream))
        .await;
    let (mut sender, connection) =
        handshake.map_err(|_| Failure::NotConnected("the connection was closed"))?;
    if !may_send() {
        park(connection.into_parts().io.into_inner());
        return Err(Failure::NotAllowed);
    }
    let mut connection = pin!(connection);
    let response = async {
        let response =
            sender.send_request(request).await.map_err(|_| Failure::Broken("the connection was closed"))?;
        whole(response, body_bytes).await
    };
    // The connection is driven here and not in a task of its own, so that dropping this future closes it.
    let both = async {
        match select(pin!(response), connection.as_mut()).await {
            Either::Left((response, _)) => response,
            Either::Right((_, response)) => response.await,
        }
    };
    timeout_at(deadline, both).await.unwrap_or(Err(Failure::Broken("the time is over")))
}

/// Reads the body of a response up to its end.
async fn whole<B>(response: http::Response<B>, max_bytes: usize) -> Result<Response, Failure>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (head, body) = response.into_parts();
    let is_encoded = |value: &HeaderValue| !value.as_bytes().eq_ignore_ascii_case(b"identity");
    if head.headers.get(header::CONTENT_ENCODING).is_some_and(is_encoded) {
        return Err(Failure::Broken("the response is compressed, which wasn't asked for"));
    }
    let mut body = pin!(Limited::new(body, max_bytes));
    let mut received = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| match error.is::<http_body_util::LengthLimitError>() {
            true => Failure::Broken("the response is too large"),
            false => Failure::Broken("the response was cut"),
        })?;
        if let Ok(data) = frame.into_data() {
            received.extend_from_slice(&data);
        }
    }
    Ok(Response { status: head.status, headers: head.headers, body: received.freeze() })
}
