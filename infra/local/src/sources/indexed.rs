//! `local index`: a folder into the database, once or for as long as it changes.

use std::io::Write;
use std::path::{Path, PathBuf};

use indexing::run::{Indexer, Options, Source};
use indexing::watch::Changes;

use super::shown::{Shown, summary};
use super::{Error, Place};

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Index {
    /// The folder.
    pub folder: PathBuf,
    /// Whose sources they are.
    pub source: Source,
    /// Where to, and how.
    pub options: Options,
    /// What a million tokens cost, in dollars.
    pub price: Option<f64>,
    /// Whether to name each file that is left out.
    pub verbose: bool,
    /// Whether to stay and index what changes.
    pub watch: bool,
}

/// Indexes, and tells on the standard error how far it is. Returns what it came to, in words.
///
/// # Errors
/// [`Error`].
pub async fn index(place: &Place, asked: &Index) -> Result<String, Error> {
    let indexer = Indexer::new(
        place.connection.clone(),
        place.embeddings()?,
        asked.source.clone(),
        asked.options.clone(),
    );
    // Begun before the folder is read, so that no change falls between.
    let mut changes = if asked.watch { Some(Changes::of(&asked.folder)?) } else { None };
    let mut known = None;
    loop {
        let mut shown = Shown::new();
        let done = indexer.run(&asked.folder, &mut known, |progress| shown.tell(progress)).await;
        shown.end();
        let Some(changes) = &mut changes else {
            return Ok(summary(&done?, asked.price, asked.verbose));
        };
        tell(&asked.folder, &done, asked)?;
        changes.next().await;
    }
}

/// While it watches, a run that failed is told and tried again with the next change.
fn tell(
    folder: &Path,
    done: &Result<indexing::run::Summary, indexing::run::Error>,
    asked: &Index,
) -> std::io::Result<()> {
    let mut output = std::io::stderr();
    match done {
        Ok(done) => writeln!(output, "{}", summary(done, asked.price, asked.verbose))?,
        Err(error) => writeln!(output, "error: {error}")?,
    }
    writeln!(output, "Watching {}. Ctrl-C ends it.", folder.display())
}
