//! The HTTP server loop that every service shares.
//!
//! No request reaches a router before its `Host` and `Origin` are checked. Neither idle connections nor clients that
//! stop sending or reading keep out new ones.

mod client_stream;
mod connections;
mod tracked_body;
mod web_check;

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tower::ServiceExt;

use crate::file_descriptor_limit;
use client_stream::ClientStream;
use connections::{Connection, Connections};
use tracked_body::{RequestBody, ResponseBody};
pub(crate) use web_check::{FRAME_SCRIPTS, WebAccess, is_presigned};

/// Connections of a server, at most. Beyond them, the one that is idle for the longest time is closed, or else the one
/// whose client has made no progress for the longest time.
const MAX_CONNECTIONS: usize = 1024;
/// Servers that share the process's file descriptors.
const SERVERS: usize = 8;
/// Timeout for a request's headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout for a client that reads nothing of its response, as API Gateway has it for streams.
const READER_TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// Time between looks for clients that exceed it.
const READER_CHECK_INTERVAL: Duration = Duration::from_secs(10);
/// Pause after a failed accept, so that running out of file descriptors does not cause a busy loop.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves `router` until the returned future is dropped, which also closes every connection.
pub(crate) async fn serve(listener: TcpListener, router: Router, access: WebAccess) {
    let limit = file_descriptor_limit::current().map_or(MAX_CONNECTIONS, |files| files / SERVERS);
    let mut connections = Connections::new(limit.clamp(1, MAX_CONNECTIONS));
    let mut check = tokio::time::interval(READER_CHECK_INTERVAL);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = check.tick() => {
                connections.close_unread(READER_TIMEOUT);
                continue;
            }
        };
        match accepted {
            Ok((stream, _)) => {
                connections.make_room().await;
                let router = router.clone();
                connections.spawn(|connection| serve_connection(stream, router, access, connection));
            }
            Err(_) => {
                // Without a free file descriptor, the new connection waits for another one to end.
                connections.close_one();
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn serve_connection(stream: TcpStream, router: Router, access: WebAccess, connection: Arc<Connection>) {
    // Without TCP_NODELAY, a small streamed chunk can wait for the acknowledgement of the previous one.
    let _ = stream.set_nodelay(true);
    let address = stream.local_addr().map_or(Ipv4Addr::LOCALHOST.into(), |address| address.ip());
    let client = ClientStream { stream, connection: Arc::clone(&connection) };
    let service = service_fn(move |request: Request<Incoming>| {
        let (router, request_guard) = (router.clone(), connection.begin_request());
        let request = request.map(|body| RequestBody::new(body, Arc::clone(&connection)));
        async move {
            let response = match access.rejection(&request, address) {
                Some(rejection) => web_check::response(rejection),
                None => router.oneshot(request).await?,
            };
            Ok::<_, Infallible>(response.map(|body| ResponseBody::new(body, request_guard)))
        }
    });
    // A connection error concerns only its client, which sees it itself.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(client), service)
        .await;
}
