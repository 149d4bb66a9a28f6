//! Qdrant: the embedded engine, in a separate process that starts with the first connection, or an external server.

mod embedded;
mod engine;
mod error;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{Error as ServiceError, listen};
use crate::listener::Server;
use crate::options::Vectors;
pub(crate) use embedded::EmbeddedQdrant;
pub(crate) use error::Error;

/// The running relay of the embedded engine, or the URL of an external server.
#[derive(Debug)]
pub(crate) struct Qdrant {
    url: String,
    embedded: Option<Arc<EmbeddedQdrant>>,
    _relay: Option<Server>,
}

impl Qdrant {
    /// Starts the relay unless the server is external. The engine keeps its collections in `folder`, and its program is
    /// that of `executable`; it starts with the first connection.
    pub(super) async fn start(
        address: SocketAddr,
        vectors: &Vectors,
        folder: PathBuf,
        executable: &Path,
    ) -> Result<Self, ServiceError> {
        match vectors {
            Vectors::Server { url, .. } => Ok(Self { url: url.clone(), embedded: None, _relay: None }),
            Vectors::Embedded => {
                let listener = listen(address).await?;
                let url = listener.url();
                let embedded = Arc::new(EmbeddedQdrant::new(folder, executable, url.clone()));
                let relay = listener.serve_with(|tcp| Arc::clone(&embedded).relay(tcp));
                Ok(Self { url, embedded: Some(embedded), _relay: Some(relay) })
            }
        }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns the embedded engine, if it is used.
    pub(crate) fn embedded(&self) -> Option<&Arc<EmbeddedQdrant>> {
        self.embedded.as_ref()
    }
}
