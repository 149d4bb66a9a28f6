//! The embedded engine behind its relay.
//!
//! The port is open from the start, so that functions and commands can be given its URL; a relay forwards connections
//! to the engine. An unused engine is never started, and none is built unasked: if it is neither installed nor built, the
//! connection is closed, as by a server that is down.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use super::engine::Process;
use super::error::Error;
use crate::http_server::ACCEPT_PAUSE;
use crate::programs::{Locations, QDRANT};

/// Start of a gRPC connection. Browsers never speak HTTP/2 without TLS, so no web page can send it.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Timeout for the start of a connection.
const PREFACE_TIMEOUT: Duration = Duration::from_secs(30);
/// Response to a connection of another protocol.
const REFUSAL: &[u8] = b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// The embedded engine of one data folder.
#[derive(Debug)]
pub(crate) struct EmbeddedQdrant {
    /// Folder of the collections.
    folder: PathBuf,
    /// Places of the engine's program.
    locations: Locations,
    /// URL of the relay in front of the engine.
    url: String,
    process: Mutex<Option<Process>>,
    /// Set once a collection has been seen.
    has_collections: AtomicBool,
}

impl EmbeddedQdrant {
    /// Creates the engine for this folder. Its program is the one of this executable. Nothing is started.
    pub(super) fn new(folder: PathBuf, executable: &Path, url: String) -> Self {
        let locations = Locations::of(&QDRANT, executable);
        Self { folder, locations, url, process: Mutex::default(), has_collections: AtomicBool::default() }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns true if there is, or was, a collection. Called before each invocation, so it only looks at the folder.
    pub(crate) fn has_collections(&self) -> bool {
        if !self.has_collections.load(Ordering::Relaxed) {
            let has_entries =
                std::fs::read_dir(&self.folder).is_ok_and(|mut entries| entries.next().is_some());
            self.has_collections.store(has_entries, Ordering::Relaxed);
        }
        self.has_collections.load(Ordering::Relaxed)
    }

    /// Starts the engine. In a checkout, builds it first if its sources have changed; the first build takes minutes.
    pub(crate) async fn ensure_ready(&self) -> Result<(), Error> {
        self.locations.find()?.build().await?;
        self.port().await.map(drop)
    }

    /// Forwards connections to the engine, until dropped.
    pub(super) async fn relay(self: Arc<Self>, listener: TcpListener) {
        let mut connections = JoinSet::new();
        loop {
            match listener.accept().await {
                Ok((client, _)) => {
                    let engine = Arc::clone(&self);
                    connections.spawn(async move { engine.forward(client).await });
                }
                // Without a free file descriptor, the new connection waits for another one to end.
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
            while connections.try_join_next().is_some() {}
        }
    }

    /// Stops the engine after it has flushed its data to disk.
    pub(crate) async fn shutdown(&self) {
        if let Some(process) = self.process.lock().await.take() {
            process.stop().await;
        }
    }

    async fn forward(&self, mut client: TcpStream) {
        let preface = tokio::time::timeout(PREFACE_TIMEOUT, read_preface(&mut client)).await;
        if !matches!(preface, Ok(Ok(true))) {
            // A browser shows this response as an error.
            let _ = client.write_all(REFUSAL).await;
            return;
        }
        let Ok(port) = self.port().await else {
            return;
        };
        if let Ok(mut engine) = TcpStream::connect(("127.0.0.1", port)).await {
            let _ = (client.set_nodelay(true), engine.set_nodelay(true));
            if engine.write_all(PREFACE).await.is_err() {
                return;
            }
            // Either side may close the connection; the other one is closed too.
            let _ = tokio::io::copy_bidirectional(&mut client, &mut engine).await;
        }
    }

    /// Returns the engine's port. Starts the engine if it is not running.
    async fn port(&self) -> Result<u16, Error> {
        let mut process = self.process.lock().await;
        if let Some(running) = process.as_mut()
            && running.is_running()
        {
            return Ok(running.port);
        }
        let never_built =
            || Error::Start("it was never built; `aptix index` and `aptix search` build it".to_owned());
        let executable = self.locations.find()?.file().ok_or_else(never_built)?;
        let started = Process::start(&executable, &self.folder).await?;
        Ok(process.insert(started).port)
    }
}

/// Reads the start of a connection. Returns false at the first byte that no gRPC client sends.
async fn read_preface(client: &mut TcpStream) -> std::io::Result<bool> {
    for expected in PREFACE {
        if client.read_u8().await? != *expected {
            return Ok(false);
        }
    }
    Ok(true)
}
