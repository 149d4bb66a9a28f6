//! Progress of a build of a program: a line with the running time on a terminal, and a line now and then elsewhere.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use tokio::io::{AsyncBufRead, Lines};

use super::Package;

/// Time between lines if there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(30);
/// Time between updates on a terminal.
const TICK_INTERVAL: Duration = Duration::from_millis(200);
/// Time after which a build of a program that exists already is reported. It is usually up to date.
const QUIET_TIME: Duration = Duration::from_secs(3);
/// The progress of one build.
pub(super) struct BuildProgress {
    started: Instant,
    title: &'static str,
    /// Notice that is shown once.
    notice: Option<String>,
    /// Time at which the build is reported.
    quiet_until: Instant,
    last_line: Instant,
    is_terminal: bool,
    bar: Option<ProgressBar>,
    /// Packages that Cargo has begun to compile.
    packages: u32,
    /// Current step of the build.
    message: String,
}

impl BuildProgress {
    /// Starts to report. A first build is reported at once.
    pub(super) fn start(Package { title, alternative, .. }: &Package, is_first: bool) -> Self {
        let now = Instant::now();
        let notice = match is_first {
            true => format!("Building {title}. This takes a few minutes, once. {alternative}"),
            false => format!("Updating {title}, since its sources have changed."),
        };
        let mut progress = Self {
            started: now,
            title,
            notice: Some(notice),
            quiet_until: if is_first { now } else { now + QUIET_TIME },
            last_line: now,
            is_terminal: std::io::stderr().is_terminal(),
            bar: None,
            packages: 0,
            message: "reading the sources".to_owned(),
        };
        progress.show();
        progress
    }

    /// Returns the next line of Cargo's output, or none at its end. Reports while it waits.
    pub(super) async fn next_line(&mut self, lines: &mut Lines<impl AsyncBufRead + Unpin>) -> Option<String> {
        let mut next = Box::pin(lines.next_line());
        loop {
            // The future is kept, so that no part of a line is lost.
            if let Ok(line) = tokio::time::timeout(TICK_INTERVAL, &mut next).await {
                let line = line.ok().flatten()?;
                self.read(&line);
                self.show();
                return Some(line);
            }
            self.show();
        }
    }

    /// Ends the report with the outcome.
    pub(super) fn finish(self, is_built: bool) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if self.notice.is_none() {
            let _ = writeln!(std::io::stderr(), "{}", outcome(self.title, is_built, self.started.elapsed()));
        }
    }

    /// Counts the packages in lines such as `   Compiling serde v1.0.0`. Another line is shown until the next one.
    fn read(&mut self, line: &str) {
        self.message = match line.trim_start().strip_prefix("Compiling ") {
            Some(package) => {
                self.packages += 1;
                format!("{} packages, now {}", self.packages, package.split(' ').next().unwrap_or_default())
            }
            None => line.trim().to_owned(),
        };
    }

    fn show(&mut self) {
        if Instant::now() < self.quiet_until {
            return;
        }
        // A failed write to standard error can't be reported.
        if let Some(notice) = self.notice.take() {
            let _ = writeln!(std::io::stderr(), "{notice}");
            self.bar = self.is_terminal.then(spinner);
        }
        match &self.bar {
            Some(bar) => {
                bar.set_message(self.message.clone());
                bar.tick();
            }
            None if self.last_line.elapsed() >= LINE_INTERVAL => {
                self.last_line = Instant::now();
                let elapsed = HumanDuration(self.started.elapsed());
                let _ = writeln!(std::io::stderr(), "{elapsed}: {}", self.message);
            }
            None => {}
        }
    }
}

/// Returns the last line of the report. The error of a failed build follows it, with Cargo's output.
fn outcome(title: &str, is_built: bool, elapsed: Duration) -> String {
    let elapsed = HumanDuration(elapsed);
    match is_built {
        true => format!("Built {title} in {elapsed}."),
        false => format!("The build of {title} failed after {elapsed}."),
    }
}

fn spinner() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {elapsed}  {msg}");
    ProgressBar::new_spinner().with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncBufReadExt, BufReader};

    use super::*;

    #[test]
    fn failed_build_is_not_reported_as_built() {
        let line = |is_built| outcome("Qdrant", is_built, Duration::from_secs(30));
        assert_eq!(line(true), "Built Qdrant in 30 seconds.");
        assert_eq!(line(false), "The build of Qdrant failed after 30 seconds.");
    }

    #[tokio::test]
    async fn packages_are_counted_and_lines_returned() {
        let output =
            "    Updating index\n   Compiling serde v1.0.0\n   Compiling qdrant-edge v0.1.0 (path)\n";
        let mut lines = BufReader::new(output.as_bytes()).lines();
        let mut progress = BuildProgress::start(&super::super::QDRANT, false);
        let mut read = Vec::new();
        while let Some(line) = progress.next_line(&mut lines).await {
            read.push(line);
        }
        assert_eq!(read.len(), 3);
        assert_eq!(progress.message, "2 packages, now qdrant-edge");
        progress.read("    Blocking waiting for file lock on build directory");
        assert_eq!(progress.message, "Blocking waiting for file lock on build directory");
        assert!(progress.notice.is_some(), "a short build is not reported");
    }

    #[test]
    fn first_build_names_the_alternative() {
        let progress = BuildProgress::start(&super::super::QDRANT, true);
        assert!(progress.notice.is_none());
    }
}
