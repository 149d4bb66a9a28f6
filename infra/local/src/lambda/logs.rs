//! What the processes of one function print, in one file of bounded size.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

use super::function::Function;
use crate::options::Logs;

/// The file is moved aside when it is longer than this; one older file is kept.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;
/// What a line holds that is about the model.
const MODEL: &[u8] = b"model";
/// A longer line is broken.
const MAX_LINE_BYTES: u64 = 256 * 1024;

/// A function's log.
pub(crate) struct LogFile {
    path: PathBuf,
    function: Function,
    /// Which lines are printed to the terminal as well.
    echo: Logs,
    open: Mutex<Open>,
}

struct Open {
    file: File,
    written: u64,
}

impl LogFile {
    /// Goes on with a log, or starts one.
    pub(crate) fn create(path: PathBuf, function: Function, echo: Logs) -> std::io::Result<Self> {
        let file = File::options().create(true).append(true).open(&path)?;
        let written = file.metadata()?.len();
        Ok(Self { path, function, echo, open: Mutex::new(Open { file, written }) })
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
        let name = self.function.name();
        let mut terminal = std::io::stderr().lock();
        let _ = match self.echo {
            Logs::None => Ok(()),
            Logs::Trouble => trouble(line).map_or(Ok(()), |told| writeln!(terminal, "[{name}] {told}")),
            Logs::All => write!(terminal, "[{name}] ").and_then(|()| terminal.write_all(line)),
        };
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a line says of trouble with the model, in a few words.
fn trouble(line: &[u8]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Told<'a> {
        level: &'a str,
        message: &'a str,
        error: Option<String>,
        status: Option<u16>,
        code: Option<String>,
    }
    // Most lines are not looked into.
    line.windows(MODEL.len()).any(|part| part == MODEL).then_some(())?;
    let Told { level, message, error, status, code } = serde_json::from_slice(line).ok()?;
    if !["WARN", "ERROR"].contains(&level) {
        return None;
    }
    let status = status.map(|status| status.to_string());
    Some([Some(message.to_owned()), error, status, code].into_iter().flatten().collect::<Vec<_>>().join(", "))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_with_the_model_is_told_in_a_line_and_nothing_else_is() {
        let failed = br#"{"timestamp":"t","level":"WARN","message":"a model call failed","error":"the model provider is unavailable","status":500}"#;
        let told = trouble(failed).unwrap();
        assert_eq!(told, "a model call failed, the model provider is unavailable, 500");
        let turn = br#"{"level":"INFO","message":"turn","model":"gpt-5"}"#;
        assert_eq!((trouble(turn), trouble(b"no JSON about a model")), (None, None));
    }

    #[test]
    fn a_log_goes_on_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("execute.log");
        for text in ["one", "two"] {
            LogFile::create(path.clone(), Function::Execute, Logs::None).unwrap().note(text);
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), "local cloud: one\nlocal cloud: two\n");
    }
}
