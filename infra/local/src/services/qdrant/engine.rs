//! The engine's process. It is started with a folder, prints its port, and exits when its standard input closes.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::error::Error;
use crate::private_file;

/// Timeout for the engine to open its collections.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Timeout for the engine to exit.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// A running engine. Dropping it kills the process, which loses nothing that it has acknowledged.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    pub(super) port: u16,
}

impl Process {
    /// Starts the engine and waits until it listens.
    pub(super) async fn start(executable: &Path, folder: &Path) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::Start(error.to_string());
        private_file::create_folder(folder).map_err(failed)?;
        let mut child = Command::new(executable)
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let output =
            child.stdout.take().ok_or_else(|| Error::Start("it has no standard output".to_owned()))?;
        let mut line = String::new();
        let read = timeout(START_TIMEOUT, BufReader::new(output).read_line(&mut line)).await;
        read.map_err(|_| Error::Start("it did not print its port in time".to_owned()))?.map_err(failed)?;
        let port = line.trim().parse();
        let port =
            port.map_err(|_| Error::Start("it exited immediately; see its output above".to_owned()))?;
        Ok(Self { child, port })
    }

    /// Returns true if the process is still running.
    pub(super) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Closes the engine's input and waits until it exits.
    pub(super) async fn stop(mut self) {
        drop(self.child.stdin.take());
        // If it does not exit in time, dropping it kills it.
        let _ = timeout(STOP_TIMEOUT, self.child.wait()).await;
    }
}
