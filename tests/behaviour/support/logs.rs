//! Access to the functions' logs.

use std::time::{Duration, Instant};

use local::Function;
use serde_json::Value;

use super::{PATIENCE, System};

impl System {
    /// Waits until the logs of all functions are as wanted, and returns them.
    pub async fn until_logs(&self, wanted: impl Fn(&str) -> bool) -> String {
        let give_up = Instant::now() + PATIENCE;
        loop {
            let read = |function| std::fs::read_to_string(self.cloud.log_file(function)).expect("a log");
            let logs = Function::ALL.map(read).concat();
            if wanted(&logs) {
                return logs;
            }
            assert!(Instant::now() < give_up, "the logs are not as wanted: {logs}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Returns the lines of a function's log so far.
    pub fn log(&self, function: Function) -> Vec<Value> {
        let log = std::fs::read_to_string(self.cloud.log_file(function)).expect("a log");
        // The local cloud's own lines and panic messages are not JSON.
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Waits for a wanted line with this message, because logs arrive in the background. Returns the wanted lines.
    pub async fn logged(
        &self,
        function: Function,
        message: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Vec<Value> {
        let give_up = Instant::now() + PATIENCE;
        loop {
            let log = self.log(function);
            let lines: Vec<Value> = log.iter().filter(|line| wanted(line)).cloned().collect();
            if lines.iter().any(|line| line["message"] == message) {
                return lines;
            }
            assert!(Instant::now() < give_up, "{message} is not in the log of {}: {log:#?}", function.name());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Returns the line with this message.
pub fn line<'a>(lines: &'a [Value], message: &str) -> &'a Value {
    lines.iter().find(|line| line["message"] == message).unwrap_or_else(|| panic!("no {message}: {lines:#?}"))
}
