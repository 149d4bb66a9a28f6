//! Progress of an indexing run, as a bar on a terminal and as lines elsewhere, and the summary of a run.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indexing::run::{Progress, Summary};
use indexing::walk::SkipReason;
use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressStyle};

/// Time between progress lines if there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(5);
/// Template of the bar. It counts bytes, since the number of chunks is not known in advance.
const BAR_TEMPLATE: &str = "{spinner} {elapsed} {bar:32} {bytes}/{total_bytes}, {eta} left, {msg}";
/// Time between updates of the bar, also while an embedding request takes long.
const TICK_INTERVAL: Duration = Duration::from_millis(200);

/// Reasons whose paths are always listed, since the user expects these entries to be indexed.
const NAMED: &[SkipReason] = &[SkipReason::Unreadable, SkipReason::NameNotUtf8, SkipReason::SymbolicLink];

/// Reports the progress of a run.
pub(super) struct ProgressReporter {
    bar: Option<ProgressBar>,
    started: Instant,
    last_line: Instant,
    bytes: u64,
    stored_bytes: u64,
    chunks: u64,
}

impl ProgressReporter {
    pub(super) fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style =
                ProgressStyle::with_template(BAR_TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar());
            let bar = ProgressBar::new(0).with_style(style);
            bar.enable_steady_tick(TICK_INTERVAL);
            bar
        });
        let now = Instant::now();
        Self { bar, started: now, last_line: now, bytes: 0, stored_bytes: 0, chunks: 0 }
    }

    pub(super) fn update(&mut self, progress: Progress) {
        match progress {
            Progress::Compared { bytes, .. } => {
                self.bytes = bytes;
                // Reading the folder and the database says nothing about the time for embedding.
                self.started = Instant::now();
                if let Some(bar) = &self.bar {
                    bar.set_length(bytes);
                    bar.reset_eta();
                }
            }
            Progress::Skipped { bytes } => self.stored_bytes += bytes,
            Progress::Stored { chunks, bytes } => {
                self.chunks += u64::try_from(chunks).unwrap_or(u64::MAX);
                self.stored_bytes += bytes;
            }
        }
        match &self.bar {
            Some(bar) => {
                bar.set_position(self.stored_bytes);
                bar.set_message(self.rate());
            }
            None if self.last_line.elapsed() >= LINE_INTERVAL => {
                self.last_line = Instant::now();
                // A failed write to standard error can't be reported.
                let _ = writeln!(std::io::stderr(), "{}", self.line());
            }
            None => {}
        }
    }

    pub(super) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }

    fn rate(&self) -> String {
        let seconds = self.started.elapsed().as_secs().max(1);
        format!("{} chunks, {}/s", HumanCount(self.chunks), self.chunks / seconds)
    }

    fn line(&self) -> String {
        let (processed, total) = (HumanBytes(self.stored_bytes), HumanBytes(self.bytes));
        let elapsed = self.started.elapsed();
        let remaining = self.bytes.saturating_sub(self.stored_bytes);
        let remaining = elapsed.as_secs().saturating_mul(remaining) / self.stored_bytes.max(1);
        format!(
            "{processed} of {total}, {}, about {} left",
            self.rate(),
            HumanDuration(Duration::from_secs(remaining))
        )
    }
}

/// Formats the summary of a run.
pub(super) fn summary(run: &Summary, price: Option<f64>, verbose: bool, dry_run: bool) -> String {
    let mut text = if dry_run { "Nothing was changed. A run would give: " } else { "" }.to_owned();
    let _ = write!(
        text,
        "{} files indexed, {} unchanged, {} deleted, {} skipped; {} chunks stored, {} deleted; {} tokens in {} requests",
        run.indexed,
        run.unchanged,
        run.removed_files,
        run.skipped_files(),
        run.chunks,
        run.removed_points,
        run.tokens,
        run.requests,
    );
    if let Some(price) = price {
        let _ = write!(text, ", ${:.4}", run.cost(price));
    }
    let _ = write!(text, "; {:.1} s.", run.elapsed.as_secs_f64());
    for (skip, paths) in &run.skipped {
        if matches!(skip, SkipReason::Secret(_)) {
            continue;
        }
        let _ = write!(text, "\nSkipped, {}: {}", skip.reason(), paths.len());
        if verbose || NAMED.contains(skip) {
            paths.iter().for_each(|path| _ = write!(text, "\n  {path}"));
        }
    }
    let secrets = run.secrets().count();
    if secrets > 0 {
        let _ = write!(text, "\nSkipped, may hold a secret: {secrets}. Index one with --allow-secret PATH.");
        run.secrets().for_each(|(path, finding)| _ = write!(text, "\n  {path} ({finding})"));
    }
    for (fallback, paths) in &run.fallbacks {
        let _ = write!(text, "\nSplit by lines, {}: {}", fallback.reason(), paths.len());
        paths.iter().for_each(|path| _ = write!(text, "\n  {path}"));
    }
    text
}
