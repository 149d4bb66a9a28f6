//! The engine's process: started with a folder, it says its port; it ends when its input does.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::Error;

/// How long it may take to open its collections.
const START: Duration = Duration::from_secs(60);
/// How long it may take to end.
const END: Duration = Duration::from_secs(10);

/// A running engine. Dropping it kills it, which loses nothing that it answered.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    pub(super) port: u16,
}

impl Process {
    /// Starts it and waits until it listens.
    pub(super) async fn start(executable: &Path, folder: &Path) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::Start(error.to_string());
        let mut child = Command::new(executable)
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let output = child.stdout.take().ok_or_else(|| Error::Start("it has no output".to_owned()))?;
        let mut line = String::new();
        let read = timeout(START, BufReader::new(output).read_line(&mut line)).await;
        read.map_err(|_| Error::Start("it did not say its port".to_owned()))?.map_err(failed)?;
        let port = line.trim().parse();
        let port = port.map_err(|_| Error::Start("it ended at once; its words are above".to_owned()))?;
        Ok(Self { child, port })
    }

    /// Whether it still runs.
    pub(super) fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Lets it end, and waits for it.
    pub(super) async fn end(mut self) {
        drop(self.child.stdin.take());
        // One that does not end in time is killed.
        let _ = timeout(END, self.child.wait()).await;
    }
}
