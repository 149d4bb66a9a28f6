//! How far a run is, on a terminal as a bar and elsewhere as lines; and what it came to, in words.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indexing::run::{Progress, Summary};
use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressStyle};

/// How often a line is written where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);
/// What a bar shows. How many chunks there will be is not known before they are cut, so it counts bytes.
const BAR: &str = "{bar:32} {bytes}/{total_bytes}, {eta} left, {msg}";

/// How far a run is.
pub(super) struct Shown {
    bar: Option<ProgressBar>,
    began: Instant,
    told: Instant,
    bytes: u64,
    cut: u64,
    chunks: u64,
}

impl Shown {
    pub(super) fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template(BAR).unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(0).with_style(style)
        });
        let now = Instant::now();
        Self { bar, began: now, told: now, bytes: 0, cut: 0, chunks: 0 }
    }

    pub(super) fn tell(&mut self, progress: Progress) {
        match progress {
            Progress::Compared { bytes, .. } => {
                self.bytes = bytes;
                if let Some(bar) = &self.bar {
                    bar.set_length(bytes);
                }
            }
            Progress::Cut { bytes } => self.cut += bytes,
            Progress::Stored { chunks } => self.chunks += u64::try_from(chunks).unwrap_or(u64::MAX),
        }
        match &self.bar {
            Some(bar) => {
                bar.set_position(self.cut);
                bar.set_message(self.rate());
            }
            None if self.told.elapsed() >= LINE_EVERY => {
                self.told = Instant::now();
                // Nobody is there to be told that nobody can be told.
                let _ = writeln!(std::io::stderr(), "{}", self.line());
            }
            None => {}
        }
    }

    pub(super) fn end(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }

    fn rate(&self) -> String {
        let seconds = self.began.elapsed().as_secs().max(1);
        format!("{} chunks, {}/s", HumanCount(self.chunks), self.chunks / seconds)
    }

    fn line(&self) -> String {
        let (done, all) = (HumanBytes(self.cut), HumanBytes(self.bytes));
        let elapsed = self.began.elapsed();
        let left = self.bytes.saturating_sub(self.cut);
        let left = elapsed.as_secs().saturating_mul(left) / self.cut.max(1);
        format!("{done} of {all}, {}, about {} left", self.rate(), HumanDuration(Duration::from_secs(left)))
    }
}

/// What a run came to, in words.
pub(super) fn summary(done: &Summary, price: Option<f64>, verbose: bool) -> String {
    let mut told = format!(
        "{} files indexed, {} unchanged, {} gone, {} left out; {} chunks stored, {} removed; {} tokens in {} requests",
        done.indexed,
        done.unchanged,
        done.gone,
        done.skipped_files(),
        done.chunks,
        done.removed,
        done.tokens,
        done.requests,
    );
    if let Some(price) = price {
        let _ = write!(told, ", ${:.4}", done.cost(price));
    }
    let _ = write!(told, "; {:.1} s.", done.took.as_secs_f64());
    for (skip, paths) in &done.skipped {
        let _ = write!(told, "\nLeft out, {}: {}", skip.reason(), paths.len());
        if verbose {
            paths.iter().for_each(|path| _ = write!(told, "\n  {path}"));
        }
    }
    told
}
