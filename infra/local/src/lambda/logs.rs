//! The log of one function: the output of its processes, in one file of bounded size.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

use crate::function::Function;
use crate::options::Logs;
use crate::private_file;

/// Log size that triggers a rotation. One older file is kept.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;
/// Texts of which every line about the model contains one.
const MODEL_MARKERS: [&[u8]; 2] = [b"model", b"provider"];
/// Longest line, in bytes. A longer one is split.
const MAX_LINE_BYTES: u64 = 256 * 1024;

/// A function's log.
pub(crate) struct LogFile {
    path: PathBuf,
    function: Function,
    /// Lines that are also printed to the terminal.
    echo: Logs,
    open: Mutex<OpenFile>,
}

struct OpenFile {
    file: File,
    written: u64,
}

impl LogFile {
    /// Opens an existing log for appending, or creates one.
    pub(crate) fn create(path: PathBuf, function: Function, echo: Logs) -> std::io::Result<Self> {
        let file = private_file::append(&path)?;
        let written = file.metadata()?.len();
        Ok(Self { path, function, echo, open: Mutex::new(OpenFile { file, written }) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the length of the current file, in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.open().written
    }

    /// Copies lines until the process closes its output.
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

    /// Writes a note of the local cloud about the function.
    pub(crate) fn note(&self, text: &str) {
        self.line(format!("local cloud: {text}\n").as_bytes());
    }

    fn line(&self, line: &[u8]) {
        // A failed write to the log is ignored.
        let _ = self.open().append(line, &self.path);
        let name = self.function.name();
        let mut terminal = std::io::stderr().lock();
        let _ = match self.echo {
            Logs::None => Ok(()),
            Logs::ModelErrors => {
                model_error(line).map_or(Ok(()), |message| writeln!(terminal, "[{name}] {message}"))
            }
            Logs::All => write!(terminal, "[{name}] ").and_then(|()| terminal.write_all(line)),
        };
    }

    fn open(&self) -> MutexGuard<'_, OpenFile> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Summarizes a log line about a failed model call. Returns none for any other line.
fn model_error(line: &[u8]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct LogLine<'a> {
        level: &'a str,
        message: &'a str,
        error: Option<String>,
        status: Option<u16>,
        code: Option<String>,
        description: Option<String>,
    }
    // Only lines that mention the model are parsed.
    let mentions = |marker: &[u8]| line.windows(marker.len()).any(|part| part == marker);
    MODEL_MARKERS.into_iter().any(mentions).then_some(())?;
    let LogLine { level, message, error, status, code, description } = serde_json::from_slice(line).ok()?;
    if !["WARN", "ERROR"].contains(&level) {
        return None;
    }
    let status = status.map(|status| status.to_string());
    let summary =
        [Some(message.to_owned()), error, status, code].into_iter().flatten().collect::<Vec<_>>().join(", ");
    Some(match description {
        Some(description) => format!("{summary}: {description}"),
        None => summary,
    })
}

impl OpenFile {
    fn append(&mut self, line: &[u8], path: &std::path::Path) -> std::io::Result<()> {
        if self.written > MAX_FILE_BYTES {
            std::fs::rename(path, path.with_extension("log.1"))?;
            *self = Self { file: private_file::append(path)?, written: 0 };
        }
        self.file.write_all(line)?;
        self.written += u64::try_from(line.len()).unwrap_or_default();
        Ok(())
    }
}

/// Returns the path of a function's log.
pub(crate) fn log_path(logs: &Path, function: Function) -> PathBuf {
    logs.join(format!("{}.log", function.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_errors_are_echoed_in_one_line_and_nothing_else() {
        let failed = br#"{"timestamp":"t","level":"WARN","message":"model call failed","error":"the model provider is unavailable","status":500}"#;
        let message = model_error(failed).unwrap();
        assert_eq!(message, "model call failed, the model provider is unavailable, 500");
        let described = br#"{"level":"WARN","message":"model call failed","status":400,"description":"http://h/v1/responses answered 400: \"No.\""}"#;
        let message = model_error(described).unwrap();
        assert_eq!(message, "model call failed, 400: http://h/v1/responses answered 400: \"No.\"");
        let turn = br#"{"level":"INFO","message":"turn","model":"gpt-5"}"#;
        assert_eq!((model_error(turn), model_error(b"no JSON about a model")), (None, None));
    }

    #[test]
    fn log_is_appended_after_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("execute.log");
        for text in ["one", "two"] {
            LogFile::create(path.clone(), Function::Execute, Logs::None).unwrap().note(text);
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), "local cloud: one\nlocal cloud: two\n");
    }
}
