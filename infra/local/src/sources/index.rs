//! `aptix index`: indexes a folder into the vector database, once or continuously.

use std::io::Write;
use std::path::{Path, PathBuf};

use indexing::run::{Indexer, Options, Source};
use indexing::watch::Changes;

use super::error::Error;
use super::progress::{ProgressReporter, summary};
use super::target::Target;

/// Input of [`index`].
#[derive(Debug, Clone)]
pub struct Index {
    /// The folder to index.
    pub folder: PathBuf,
    /// Owner of the sources.
    pub source: Source,
    /// Collection, model and other indexing options.
    pub options: Options,
    /// Price of a million tokens, in dollars.
    pub price: Option<f64>,
    /// Set to list every skipped file.
    pub verbose: bool,
    /// Set to keep watching the folder and index changes.
    pub watch: bool,
}

/// Indexes the folder and reports progress on standard error. Returns a summary.
///
/// # Errors
/// [`Error`].
pub async fn index(target: &Target, request: &Index) -> Result<String, Error> {
    let indexer = Indexer::new(
        target.connection.clone(),
        target.embeddings()?,
        request.source.clone(),
        request.options.clone(),
    );
    // Watching starts before the folder is read, so that no change is missed.
    let mut changes = if request.watch { Some(watch(request.folder.clone()).await?) } else { None };
    let mut indexed_state = None;
    loop {
        let mut reporter = ProgressReporter::new();
        let result =
            indexer.run(&request.folder, &mut indexed_state, |progress| reporter.update(progress)).await;
        reporter.finish();
        let Some(changes) = &mut changes else {
            return Ok(summary(&result?, request.price, request.verbose));
        };
        report_run(&request.folder, &result, request)?;
        changes.next().await;
    }
}

/// Starts to watch a folder. It takes seconds for one with many folders, in which a signal must be able to end the command.
async fn watch(folder: PathBuf) -> Result<Changes, Error> {
    let changes = tokio::task::spawn_blocking(move || Changes::watch(&folder)).await;
    Ok(changes.map_err(indexing::run::Error::from)??)
}

/// Reports the result of a run while watching. A failed run is retried after the next change.
fn report_run(
    folder: &Path,
    result: &Result<indexing::run::Summary, indexing::run::Error>,
    request: &Index,
) -> std::io::Result<()> {
    let mut output = std::io::stderr();
    match result {
        Ok(result) => writeln!(output, "{}", summary(result, request.price, request.verbose))?,
        Err(error) => writeln!(output, "error: {error}")?,
    }
    writeln!(output, "Watching {} for changes. Press Ctrl-C to stop.", folder.display())
}
