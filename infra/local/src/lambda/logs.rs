//! What the processes of one function print, in one file of bounded size.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

use super::function::Function;

/// The file is moved aside when it is longer than this; one older file is kept.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;
/// A longer line is broken.
const MAX_LINE_BYTES: u64 = 256 * 1024;

/// A function's log.
pub(crate) struct LogFile {
    path: PathBuf,
    function: Function,
    /// Whether lines are printed to the terminal as well.
    echo: bool,
    open: Mutex<Open>,
}

struct Open {
    file: File,
    written: u64,
}

impl LogFile {
    /// Starts an empty log.
    pub(crate) fn create(path: PathBuf, function: Function, echo: bool) -> std::io::Result<Self> {
        let file = File::create(&path)?;
        Ok(Self { path, function, echo, open: Mutex::new(Open { file, written: 0 }) })
    }

    /// Copies lines until the process closes its end.
    pub(crate) async fn copy(self: Arc<Self>, from: impl AsyncRead + Unpin) {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        loop {
            line.clear();
            match (&mut from).take(MAX_LINE_BYTES).read_until(b'\n', &mut line).await {
                Ok(0) | Err(_) => return,
                Ok(_) => self.line(&line),
            }
        }
    }

    /// Something that the local cloud has to say about the function.
    pub(crate) fn note(&self, text: &str) {
        self.line(format!("local cloud: {text}\n").as_bytes());
    }

    fn line(&self, line: &[u8]) {
        // A log that can't be written stops nothing.
        let _ = self.open().append(line, &self.path);
        if self.echo {
            let mut terminal = std::io::stderr().lock();
            let _ = write!(terminal, "[{}] ", self.function.name());
            let _ = terminal.write_all(line);
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn append(&mut self, line: &[u8], path: &std::path::Path) -> std::io::Result<()> {
        if self.written > MAX_FILE_BYTES {
            std::fs::rename(path, path.with_extension("log.1"))?;
            *self = Self { file: File::create(path)?, written: 0 };
        }
        self.file.write_all(line)?;
        self.written += u64::try_from(line.len()).unwrap_or_default();
        Ok(())
    }
}
