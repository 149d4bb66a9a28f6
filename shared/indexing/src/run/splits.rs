//! Reads and splits files on several threads, in order.

use std::collections::VecDeque;
use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;

use tokio::task::{JoinError, JoinHandle, spawn_blocking};

use super::compare::ChangedFile;
use super::options::{Options, Source};
use super::point::{FilePoints, build_points};
use crate::language;
use crate::split::{Fallback, split};
use crate::walk::{SkipReason, SourceFile, read};

/// The points of a file and the reason if it was split by lines, or the reason to skip a file that has changed since the
/// comparison.
type SplitFile = Result<(FilePoints, Option<Fallback>), SkipReason>;

/// The files to split. As many as the machine has processors are split ahead.
pub(super) struct Splits {
    splitter: Arc<Splitter>,
    waiting: std::vec::IntoIter<ChangedFile>,
    running: VecDeque<(ChangedFile, JoinHandle<SplitFile>)>,
    concurrency: usize,
}

struct Splitter {
    source: Source,
    options: Options,
}

impl Splits {
    pub(super) fn new(files: Vec<ChangedFile>, source: &Source, options: &Options) -> Self {
        let splitter = Splitter { source: source.clone(), options: options.clone() };
        let concurrency = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self {
            splitter: Arc::new(splitter),
            waiting: files.into_iter(),
            running: VecDeque::new(),
            concurrency,
        }
    }

    /// Returns the next file and its points; none after the last one.
    pub(super) async fn next(&mut self) -> Result<Option<(ChangedFile, SplitFile)>, JoinError> {
        while self.running.len() < self.concurrency
            && let Some(changed) = self.waiting.next()
        {
            let (splitter, file) = (Arc::clone(&self.splitter), changed.file.clone());
            self.running.push_back((changed, spawn_blocking(move || splitter.split(&file))));
        }
        let Some((changed, task)) = self.running.pop_front() else { return Ok(None) };
        Ok(Some((changed, task.await?)))
    }
}

impl Splitter {
    fn split(&self, file: &SourceFile) -> SplitFile {
        let content = read(file, &self.options.rules)?;
        let (sha256, size) = (content.sha256(), content.size());
        let text = content.into_text(file, &self.options.rules)?;
        let language = language::detect(Path::new(&file.path));
        let split = split(&text, language, self.options.chunk_length);
        let fallback = split.fallback;
        Ok((build_points(&self.source, &self.options, &file.path, (sha256, size), language, split), fallback))
    }
}
