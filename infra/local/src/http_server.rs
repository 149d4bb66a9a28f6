//! The HTTP server loop that the gateway, the Runtime API, S3 and SQS share.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::quick_ack::QuickAck;

/// Connections served at once. More wait in the listener's backlog.
const MAX_CONNECTIONS: usize = 1024;
/// Timeout for a request's headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// Pause after a failed accept, so that running out of file descriptors does not cause a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves `router` until the returned future is dropped, which also closes every connection.
pub(crate) async fn serve(listener: TcpListener, router: Router) {
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let router = router.clone();
                connections.spawn(async move {
                    connection(stream, router).await;
                    drop(slot);
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn connection(stream: TcpStream, router: Router) {
    // Without TCP_NODELAY, a small streamed chunk can wait for the acknowledgement of the previous one.
    let _ = stream.set_nodelay(true);
    // A connection error concerns its client only; there is nobody else to report it to.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(QuickAck(stream)), TowerToHyperService::new(router))
        .await;
}
