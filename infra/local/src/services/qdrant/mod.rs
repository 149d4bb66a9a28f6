//! Qdrant: the embedded engine in a process of its own, which starts when it is first asked.
//!
//! The port is there from the start, so that functions and commands can be told of it; a connection to it is handed on
//! to the engine. Nobody waits for an engine that nobody asks, and none is built behind anybody's back: where it was
//! never built, the connection closes, as that of a server that is down.

mod build;
mod engine;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use engine::Process;

/// Why there is no vector database.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The engine can't be built.
    #[error("cannot build the embedded Qdrant: {0}")]
    Build(String),
    /// The engine does not start.
    #[error("cannot start the embedded Qdrant: {0}")]
    Start(String),
}

/// Has the engine built, beside this executable, if its sources say so.
///
/// # Errors
/// When it can't be built.
pub(crate) async fn prepare(executable: &Path) -> Result<(), Error> {
    build::build(&build::target(executable)).await
}

/// The embedded engine of one data folder.
#[derive(Debug)]
pub(crate) struct Embedded {
    /// Where the collections are kept.
    folder: PathBuf,
    /// Where the engine is built.
    target: PathBuf,
    /// What reaches it, by way of the relay.
    url: String,
    process: Mutex<Option<Process>>,
    /// Whether a collection was ever seen.
    used: AtomicBool,
}

impl Embedded {
    /// The engine over this folder, built beside this executable. Nothing is started.
    pub(crate) fn new(folder: PathBuf, executable: &Path, url: String) -> Self {
        let target = build::target(executable);
        Self { folder, target, url, process: Mutex::default(), used: AtomicBool::default() }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Whether there is a collection, or was. Asked before each invocation, so it asks no more than the folder.
    pub(crate) fn is_used(&self) -> bool {
        if !self.used.load(Ordering::Relaxed) {
            let is_there = std::fs::read_dir(&self.folder).is_ok_and(|mut entries| entries.next().is_some());
            self.used.store(is_there, Ordering::Relaxed);
        }
        self.used.load(Ordering::Relaxed)
    }

    /// Builds the engine if its sources say so, and starts it: minutes the first time, and then a moment.
    pub(crate) async fn ready(&self) -> Result<(), Error> {
        build::build(&self.target).await?;
        self.port().await.map(drop)
    }

    /// Hands connections on to the engine until it is dropped.
    pub(crate) async fn relay(self: Arc<Self>, listener: TcpListener) {
        let mut connections = JoinSet::new();
        loop {
            if let Ok((client, _)) = listener.accept().await {
                let engine = Arc::clone(&self);
                connections.spawn(async move { engine.hand_on(client).await });
            }
            while connections.try_join_next().is_some() {}
        }
    }

    /// Ends the engine, with all that it was told on the disk.
    pub(crate) async fn end(&self) {
        if let Some(process) = self.process.lock().await.take() {
            process.end().await;
        }
    }

    async fn hand_on(&self, mut client: TcpStream) {
        let Ok(port) = self.port().await else {
            return;
        };
        if let Ok(mut engine) = TcpStream::connect(("127.0.0.1", port)).await {
            let _ = (client.set_nodelay(true), engine.set_nodelay(true));
            // Whoever ends it: the other one sees it end.
            let _ = tokio::io::copy_bidirectional(&mut client, &mut engine).await;
        }
    }

    /// The engine's port. Starts it when it does not run, or no more.
    async fn port(&self) -> Result<u16, Error> {
        let mut process = self.process.lock().await;
        if let Some(running) = process.as_mut()
            && running.runs()
        {
            return Ok(running.port);
        }
        let executable = build::built(&self.target).ok_or_else(|| {
            Error::Start("it was never built; `local index` and `local search` do".to_owned())
        })?;
        let started = Process::start(&executable, &self.folder).await?;
        Ok(process.insert(started).port)
    }
}
