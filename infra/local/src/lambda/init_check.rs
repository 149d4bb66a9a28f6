//! Check of a function's init: starts a process and waits until it polls for work.

use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use crate::function::Function;

/// Reads of the log of a process that has exited, at most. Its last lines may arrive after its end.
const LOG_READS: u32 = 20;
/// Time between two of them.
const LOG_INTERVAL: Duration = Duration::from_millis(25);

/// A function whose process does not start.
#[derive(Debug)]
pub struct InitError {
    function: Function,
    /// Reasons from its log: one for each invalid setting.
    reasons: Vec<String>,
    log: PathBuf,
}

impl std::error::Error for InitError {}

impl fmt::Display for InitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { function, reasons, log } = self;
        match reasons.as_slice() {
            [] => write!(f, "The function {} does not start. Its log is {}.", function.name(), log.display()),
            [reason] => write!(f, "The functions don't start: {reason}"),
            several => {
                write!(f, "The functions don't start:")?;
                several.iter().try_for_each(|reason| write!(f, "\n  {reason}"))
            }
        }
    }
}

impl InitError {
    /// Reads the reasons of a process that has exited from the part of its log after `offset`.
    pub(super) async fn read(function: Function, log: &Path, offset: u64) -> Self {
        let mut reasons = Vec::new();
        for _ in 0..LOG_READS {
            tokio::time::sleep(LOG_INTERVAL).await;
            let found = reasons_in(&text_after(log, offset).unwrap_or_default());
            if !found.is_empty() && found.len() == reasons.len() {
                break;
            }
            reasons = found;
        }
        Self { function, reasons, log: log.to_owned() }
    }

    /// Adds the reasons of another function. An error without reasons is left out if the other has some.
    pub(super) fn merge(self, other: Self) -> Self {
        let (mut error, other) = if self.reasons.is_empty() { (other, self) } else { (self, other) };
        for reason in other.reasons {
            if !error.reasons.contains(&reason) {
                error.reasons.push(reason);
            }
        }
        error
    }
}

fn text_after(log: &Path, offset: u64) -> std::io::Result<String> {
    let mut file = File::open(log)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the reasons in log lines, once each.
fn reasons_in(log: &str) -> Vec<String> {
    #[derive(Deserialize)]
    struct Line {
        message: String,
        error: Option<String>,
    }
    let mut reasons = Vec::new();
    for line in log.lines() {
        let Ok(Line { message, error: Some(error) }) = serde_json::from_str(line) else { continue };
        let is_reason =
            [contracts::log::SETTING_INVALID, contracts::log::FUNCTION_EXITED].contains(&message.as_str());
        if is_reason && !reasons.contains(&error) {
            reasons.push(error);
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn reasons_are_read_from_the_new_part_of_the_log() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let old = "{\"message\":\"invalid setting\",\"error\":\"OLD must be set\"}\n";
        let line = |setting: &str| {
            format!("{{\"level\":\"ERROR\",\"message\":\"invalid setting\",\"error\":\"{setting}\"}}\n")
        };
        let new = [
            line("A must be set"),
            line("A must be set"),
            line("B must be a number"),
            "no JSON\n".to_owned(),
        ];
        std::fs::write(log.path(), format!("{old}{}", new.concat())).unwrap();
        let offset = u64::try_from(old.len()).unwrap();
        let error = InitError::read(Function::Execute, log.path(), offset).await.to_string();
        assert_eq!(error, "The functions don't start:\n  A must be set\n  B must be a number");
        let error = InitError::read(Function::Execute, Path::new("/nowhere"), 0).await.to_string();
        assert_eq!(error, "The function execute does not start. Its log is /nowhere.");
    }
}
