//! Listeners and running servers of this machine.

use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::http_server::{WebAccess, serve};

/// A bound listener that nothing serves yet.
#[derive(Debug)]
pub(crate) struct Listener {
    tcp: TcpListener,
    address: SocketAddr,
}

impl Listener {
    /// Binds an address.
    pub(crate) async fn bind(address: SocketAddr) -> std::io::Result<Self> {
        let tcp = TcpListener::bind(address).await?;
        let mut address = tcp.local_addr()?;
        if address.ip().is_unspecified() {
            address.set_ip(Ipv4Addr::LOCALHOST.into());
        }
        Ok(Self { tcp, address })
    }

    /// Binds a port of this machine's loopback address. Port 0 picks a free port.
    pub(crate) async fn bind_loopback(port: u16) -> std::io::Result<Self> {
        Self::bind((Ipv4Addr::LOCALHOST, port).into()).await
    }

    /// Returns the address at which this machine reaches the listener.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL at which this machine reaches the listener.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Serves these routes.
    pub(crate) fn serve(self, router: Router) -> Server {
        self.serve_with(|tcp| serve(tcp, router, WebAccess::OwnPages))
    }

    /// Serves these routes, whose presigned links may be followed from any page.
    pub(crate) fn serve_links(self, router: Router) -> Server {
        self.serve_with(|tcp| serve(tcp, router, WebAccess::Links))
    }

    /// Serves the connections with this future.
    pub(crate) fn serve_with<F>(self, run: impl FnOnce(TcpListener) -> F) -> Server
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let url = self.url();
        let running = run(self.tcp);
        let mut task = JoinSet::new();
        task.spawn(async move { _ = running.await });
        Server { url, task }
    }
}

/// A running server. Dropping it stops it and closes its connections.
#[derive(Debug)]
pub(crate) struct Server {
    url: String,
    task: JoinSet<()>,
}

impl Server {
    /// Returns the server's URL, without a trailing slash.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Stops the server. Then another one can listen on its port, while a dropped one may still hold it.
    pub(crate) async fn stop(&mut self) {
        self.task.shutdown().await;
    }
}
