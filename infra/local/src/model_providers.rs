//! Manages the additional model providers in the table of a local cloud or of a deployment.
//!
//! It takes AWS credentials, since the functions send requests and keys to what the list names.

use std::path::Path;

use serde_json::Value;

use crate::json_file;
use crate::stores::{Stores, Unreachable};

/// The most bytes of a list. Sixteen providers with all members take about 16 KB.
const MAX_BYTES: usize = 64 * 1024;

/// A list that can't be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The table can't be reached.
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    /// The file is no JSON.
    #[error(transparent)]
    File(#[from] json_file::Error),
    /// The list is longer than an item may be.
    #[error("{file} has {count} bytes. A list has at most {MAX_BYTES}. Nothing was written.")]
    TooLong {
        /// Path of the file.
        file: String,
        /// Number of its bytes.
        count: usize,
    },
    /// The list is invalid.
    #[error("{file} is invalid. Nothing was written.\n{faults}")]
    Invalid {
        /// Path of the file.
        file: String,
        /// A line for each fault.
        faults: String,
    },
    /// There is no list.
    #[error("{place} has no model providers. Write some with `aptix admin providers put FILE`.")]
    Absent {
        /// The deployment.
        place: String,
    },
}

/// Returns the list as indented JSON.
///
/// # Errors
/// Fails if there is none, or the table does not respond.
pub async fn get(stores: &Stores) -> Result<String, Error> {
    let list = stores.table.model_providers().await.map_err(|error| stores.unreachable(error))?;
    let list = list.ok_or_else(|| Error::Absent { place: stores.place.clone() })?;
    Ok(match serde_json::from_str::<Value>(&list) {
        Ok(list) => format!("{list:#}\n"),
        Err(_) => format!("{list}\n"),
    })
}

/// Stores the list of a file, in place of the one before, after checking it as a function would.
///
/// # Errors
/// Fails if the list is invalid, in which case nothing is written, or the table does not respond.
pub async fn put(stores: &Stores, file: &Path) -> Result<String, Error> {
    let list: Value = json_file::read(file)?;
    let (text, name) = (list.to_string(), file.display().to_string());
    if text.len() > MAX_BYTES {
        return Err(Error::TooLong { file: name, count: text.len() });
    }
    let on_aws = !stores.is_local;
    service::providers::check(&text, on_aws)
        .map_err(|invalid| Error::Invalid { file: name, faults: invalid.faults().join("\n") })?;
    stores.table.put_model_providers(&text).await.map_err(|error| stores.unreachable(error))?;
    let count = list.as_array().map_or(0, Vec::len);
    Ok(format!("Saved {count} model providers. {NEXT_START}\n"))
}

/// Removes the list.
///
/// # Errors
/// Fails if the table does not respond.
pub async fn remove(stores: &Stores) -> Result<String, Error> {
    stores.table.remove_model_providers().await.map_err(|error| stores.unreachable(error))?;
    Ok(format!("Removed the model providers. {NEXT_START}\n"))
}

const NEXT_START: &str = "Functions with MODEL_PROVIDERS=table read them when they start. Deploy a new value of Revision to start all \
                          at once.";
