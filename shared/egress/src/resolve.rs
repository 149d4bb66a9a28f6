//! The port to the name service.

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

use futures::{FutureExt, future::BoxFuture};

/// Looks up the addresses of a host.
pub trait Resolve: Send + Sync {
    /// Returns every address of the name service's response.
    fn addresses<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The name service of the system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn addresses<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        async move {
            // A trailing dot keeps the resolver from appending its search domains. `localhost` is in a file.
            let name = if host == "localhost" { host.to_owned() } else { format!("{host}.") };
            Ok(tokio::net::lookup_host((name, 0)).await?.map(|address: SocketAddr| address.ip()).collect())
        }
        .boxed()
    }
}
