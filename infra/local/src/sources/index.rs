//! `aptix index`: indexes a folder into the vector database, once or continuously.

use std::io::Write;
use std::path::{Path, PathBuf};

use indexing::document_text::{DocumentText, extension};
use indexing::run::{Indexer, Options, Source};
use indexing::walk::walk;
use indexing::watch::Changes;

use super::error::Error;
use super::progress::{ProgressReporter, summary};
use super::target::Target;
use crate::cloud::executable;
use crate::programs::{DOCUMENT_TEXT, Locations};

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
    /// Set to delete the repository's chunks instead.
    pub remove: bool,
}

impl Index {
    fn summarize(&self, run: &indexing::run::Summary) -> String {
        summary(run, self.price, self.verbose, self.options.dry_run)
    }
}

/// Indexes the folder and reports progress on standard error. Returns a summary.
///
/// # Errors
/// [`Error`].
pub async fn index(target: &Target, request: &Index) -> Result<String, Error> {
    let mut options = request.options.clone();
    if !request.remove {
        options.rules.document_text = document_text(&request.folder).await?;
    }
    let (connection, embeddings) = (target.connection.clone(), target.embeddings()?);
    let indexer: Indexer = Indexer::new(connection, embeddings, request.source.clone(), options);
    if request.remove {
        let removed = indexer.remove().await.map_err(|error| target.name_server(error))?;
        return Ok(request.summarize(&removed));
    }
    // Watching starts before the folder is read, so that no change is missed.
    let mut changes = if request.watch { Some(watch(request.folder.clone()).await?) } else { None };
    let mut indexed_state = None;
    loop {
        let mut reporter = ProgressReporter::new();
        let result =
            indexer.run(&request.folder, &mut indexed_state, |progress| reporter.update(progress)).await;
        reporter.finish();
        let Some(changes) = &mut changes else {
            let done = result.map_err(|error| target.name_server(error))?;
            return Ok(request.summarize(&done));
        };
        report_run(&request.folder, &result, request)?;
        changes.next().await;
    }
}

/// Returns the program that extracts the text of documents, and builds it in a checkout, if the folder has documents.
/// Otherwise one that exists is used, since a watched folder may get documents later.
async fn document_text(folder: &Path) -> Result<Option<DocumentText>, Error> {
    let (walked, executable) = (folder.to_owned(), executable(None)?);
    let has_documents = move || {
        walk(&walked).is_ok_and(|found| found.files.iter().any(|file| extension(&file.path).is_some()))
    };
    let has_documents =
        tokio::task::spawn_blocking(has_documents).await.map_err(indexing::run::Error::from)?;
    let found = match Locations::of(&DOCUMENT_TEXT, &executable).find() {
        Ok(program) if has_documents => program.build().await.map(|()| program),
        found => found,
    };
    match found {
        Ok(program) => Ok(program.file().map(|program| DocumentText { program })),
        Err(error) => {
            if has_documents {
                writeln!(std::io::stderr(), "warning: {error}")?;
            }
            Ok(None)
        }
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
        Ok(result) => writeln!(output, "{}", request.summarize(result))?,
        Err(error) => writeln!(output, "error: {error}")?,
    }
    writeln!(output, "Watching {} for changes. Press Ctrl-C to stop.", folder.display())
}
