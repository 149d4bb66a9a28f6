//! Agent and conversation contexts in the table of a running local cloud: listed, read, and put after a check.

use std::path::Path;

use agent::{context, mode::Catalog, tool};
use contracts::id::{BUILT_IN_CONTEXT, OrgId};
use storage::Table;

use crate::{
    running::{self, NotRunning},
    services::provision::TABLE,
};

/// How many contexts of a kind are listed.
const MOST: u16 = 500;

/// Contexts that could not be read or put. Each message says what to mend.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file can't be read.
    #[error("cannot read {file}")]
    File {
        /// Which.
        file: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// No local cloud uses this folder.
    #[error(transparent)]
    NotRunning(#[from] NotRunning),
    /// The org's name is none.
    #[error("--org {0}")]
    Org(contracts::id::InvalidId),
    /// No context of the org has this id.
    #[error("{org} has no context {id:?}; `contexts list` shows what there is")]
    Unknown {
        /// The org.
        org: String,
        /// The id.
        id: String,
    },
    /// The built-in modes or tools are wrong, or the file's contexts are: every fault.
    #[error("nothing was written, since there are faults:\n{0}")]
    Faults(String),
    /// The table does not take them.
    #[error("the local cloud on the data folder {folder} does not answer; start it first")]
    Table {
        /// The folder.
        folder: String,
        /// Why.
        #[source]
        source: turns::ports::Unavailable,
    },
}

/// Checks the contexts of a file and writes them for an org; says what was written.
///
/// # Errors
/// When the file holds a fault: then nothing is written. When no local cloud runs on the folder.
pub async fn put(folder: &Path, org: &str, file: &Path) -> Result<String, Error> {
    let text = std::fs::read_to_string(file)
        .map_err(|source| Error::File { file: file.display().to_string(), source })?;
    put_text(folder, org, &text).await
}

/// As [`put`] does with a file that holds this text.
///
/// # Errors
/// As [`put`] fails.
pub async fn put_text(folder: &Path, org: &str, text: &str) -> Result<String, Error> {
    let org = OrgId::new(org).map_err(Error::Org)?;
    let providers = running::providers(folder);
    let documents = read(text, &providers.iter().map(String::as_str).collect::<Vec<_>>())?;
    if let Some(document) = documents.iter().find(|document| document.id() == BUILT_IN_CONTEXT) {
        let kind = document.kind();
        return Err(Error::Faults(format!(
            "{BUILT_IN_CONTEXT:?} is the id of the {kind} context that comes with the service"
        )));
    }
    let table = Table::new(running::clients(folder)?.dynamodb, TABLE.to_owned());
    let mut written = Vec::with_capacity(documents.len());
    for document in &documents {
        let unanswered = |source| Error::Table { folder: folder.display().to_string(), source };
        table.put_context(&org, document).await.map_err(unanswered)?;
        written.push(format!("{} {}", document.kind(), document.id()));
    }
    Ok(format!("put for {}: {}", org.as_str(), written.join(", ")))
}

/// The JSON Schema of what `put` takes.
#[must_use]
pub fn schema() -> String {
    format!("{:#}", context::schema())
}

/// The contexts of an org: a line for each, with its kind, id and name.
///
/// # Errors
/// When no local cloud runs on the folder.
pub async fn list(folder: &Path, org: &str) -> Result<String, Error> {
    let lines = all(folder, org).await?.into_iter().map(|document| {
        let (kind, id, name) = (document.kind(), document.id(), document.name());
        format!("{kind:<12}  {id:<24}  {name}\n")
    });
    Ok(lines.collect())
}

/// The contexts of an org with this id, as `put` takes them: one of each kind at most.
///
/// # Errors
/// When there is none, or no local cloud runs on the folder.
pub async fn get(folder: &Path, org: &str, id: &str) -> Result<String, Error> {
    let mut found = all(folder, org).await?;
    found.retain(|document| document.id() == id);
    if found.is_empty() {
        return Err(Error::Unknown { org: org.to_owned(), id: id.to_owned() });
    }
    serde_json::to_string_pretty(&found).map_err(|error| Error::Faults(error.to_string()))
}

/// The contexts of an org.
///
/// # Errors
/// When no local cloud runs on the folder.
pub async fn all(folder: &Path, org: &str) -> Result<Vec<context::Document>, Error> {
    let org = OrgId::new(org).map_err(Error::Org)?;
    let table = Table::new(running::clients(folder)?.dynamodb, TABLE.to_owned());
    let unanswered = |source| Error::Table { folder: folder.display().to_string(), source };
    table.contexts(&org, MOST).await.map_err(unanswered)
}

fn read(text: &str, providers: &[&str]) -> Result<Vec<context::Document>, Error> {
    let faults = |faults: &dyn std::fmt::Display| Error::Faults(faults.to_string());
    let tools = tool::Registry::new(tool::built_in()).map_err(|found| faults(&found))?;
    let names: Vec<&str> = tools.names().collect();
    let catalog = Catalog::seed(&names).map_err(|found| faults(&found))?;
    context::parse_documents(text, &catalog, &names, providers).map_err(|found| faults(&found))
}
