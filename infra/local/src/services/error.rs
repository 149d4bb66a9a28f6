//! Failures to start a service.

use std::net::SocketAddr;

use crate::data_folder;
use crate::listener::Listener;

/// A service that does not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A port is not available.
    #[error("Can't listen on {address}: {source}. Check --services-host and --services-port.")]
    Port {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: std::io::Error,
    },
    /// A file in the data folder can't be used.
    #[error(transparent)]
    Data(#[from] data_folder::Error),
    /// The database can't be opened.
    #[error("Can't open the database: {0}")]
    Database(String),
    /// The secrets can't be opened, or their key is another one.
    #[error("Can't open the secrets {0}. If their key is lost, delete the file and set the secrets again.")]
    Secrets(String),
    /// The object store can't be opened.
    #[error("Can't open the object store: {0}")]
    ObjectStore(#[from] rusqlite::Error),
}

/// Binds the address of a service.
pub(super) async fn listen(address: SocketAddr) -> Result<Listener, Error> {
    Listener::bind(address).await.map_err(|source| Error::Port { address, source })
}
