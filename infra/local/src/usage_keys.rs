//! Manages the API keys that requests of orgs and users count against, in the table of a local cloud or of a deployment.
//!
//! It takes AWS credentials, since a key decides how much its callers may take from all others.

use std::collections::BTreeMap;
use std::path::Path;

pub use turns::ports::{UsageKey, UsageKeyHolder};

use crate::json_file;
use crate::stores::{Stores, Unreachable};

/// The most keys of a list and of a file: as many as a region has.
const MAX_KEYS: usize = 10_000;

/// A file with keys that can't be written, or a table that can't be reached.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The table can't be reached.
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    /// The file is no JSON object of texts.
    #[error(transparent)]
    File(#[from] json_file::Error),
    /// A member of the file is invalid. Nothing was written.
    #[error("{file}: {member:?} {rule}. Nothing was written.")]
    Member {
        /// Path of the file.
        file: String,
        /// Name of the member.
        member: String,
        /// The rule that it breaks.
        rule: String,
    },
    /// The file has more keys than a region can have.
    #[error("{file} has {count} keys. A region has at most {MAX_KEYS}. Nothing was written.")]
    TooMany {
        /// Path of the file.
        file: String,
        /// Number of its keys.
        count: usize,
    },
}

/// Lists holders, one line each with name and key.
///
/// # Errors
/// Fails if the table does not respond, or a key can't be read.
pub async fn list(stores: &Stores) -> Result<String, Error> {
    let keys = stores.table.usage_keys(MAX_KEYS).await.map_err(|error| stores.unreachable(error))?;
    Ok(keys.into_iter().map(|(holder, key)| format!("{holder:<40}  {}\n", key.as_str())).collect())
}

/// Gives a holder a key, in place of the one before.
///
/// # Errors
/// Fails if the table does not respond.
pub async fn put(stores: &Stores, holder: &UsageKeyHolder, key: &UsageKey) -> Result<String, Error> {
    stores.table.put_usage_key(holder, key).await.map_err(|error| stores.unreachable(error))?;
    Ok(format!("Requests of {holder} count against their own key within two minutes.\n"))
}

/// Writes the keys of a file with a JSON object: names `org` and `org/user`, with their keys. Others stay.
///
/// # Errors
/// Fails if the file is invalid, before anything is written, or the table does not respond.
pub async fn put_file(stores: &Stores, file: &Path) -> Result<String, Error> {
    let keys = read(file)?;
    for (holder, key) in &keys {
        stores.table.put_usage_key(holder, key).await.map_err(|error| stores.unreachable(error))?;
    }
    Ok(format!("Saved {} usage keys. They apply within two minutes.\n", keys.len()))
}

/// Removes the key of a holder.
///
/// # Errors
/// Fails if the table does not respond.
pub async fn remove(stores: &Stores, holder: &UsageKeyHolder) -> Result<String, Error> {
    stores.table.remove_usage_key(holder).await.map_err(|error| stores.unreachable(error))?;
    Ok(format!(
        "Requests of {holder} count against the key of their org, or else the shared one, within two minutes.\n"
    ))
}

fn read(file: &Path) -> Result<Vec<(UsageKeyHolder, UsageKey)>, Error> {
    let members: BTreeMap<String, String> = json_file::read(file)?;
    let name = file.display().to_string();
    if members.len() > MAX_KEYS {
        return Err(Error::TooMany { file: name, count: members.len() });
    }
    let keys = members.into_iter().map(|(member, key)| {
        let holder = UsageKeyHolder::parse(&member).map_err(|rule| rule.to_string());
        let key = UsageKey::new(key).map_err(|rule| rule.to_string());
        holder.and_then(|holder| Ok((holder, key?))).map_err(|rule| Error::Member {
            file: name.clone(),
            member,
            rule,
        })
    });
    keys.collect()
}
