//! Serving HTTP on a listener: the one loop that the gateway, the Runtime API, S3 and SQS share.

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

/// Connections beyond this wait in the listener's backlog.
const MAX_CONNECTIONS: usize = 1024;
/// How long a client may take to send a request's headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// A pause after a failed accept, so that running out of file handles does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves `router` until the returned future is dropped, which ends every connection too.
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
    // Without this a small streamed chunk can wait for the acknowledgement of the one before it.
    let _ = stream.set_nodelay(true);
    // A connection that ends badly is its client's concern; there is nobody else to tell.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(QuickAck(stream)), TowerToHyperService::new(router))
        .await;
}
