//! Folder of a collection: below the engine's, with the collection's name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::refusal::Refusal;

/// Maximum length of a collection's name in bytes, because it is a file name.
const MAX_NAME_BYTES: usize = 200;

/// File in the folder of a collection in strict mode.
const STRICT_MODE: &str = "strict-mode";

/// Returns the folder of a collection. Refuses an invalid name.
pub(crate) fn collection_folder(root: &Path, name: &str) -> Result<PathBuf, Refusal> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > MAX_NAME_BYTES || name.starts_with('.') || !name.chars().all(plain) {
        return Err(Refusal::invalid(format!(
            "`{name}` can't name a collection: 1 to {MAX_NAME_BYTES} of the letters a to z, digits, `-`, `_` and `.`, \
             not beginning with `.`"
        )));
    }
    Ok(root.join(name))
}

/// Returns the stored collections: name and folder.
pub(crate) fn collections(root: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        if let (true, Some(name)) = (path.is_dir(), path.file_name().and_then(|name| name.to_str())) {
            found.push((name.to_owned(), path));
        }
    }
    Ok(found)
}

/// Returns true if the collection in this folder is in strict mode.
pub(crate) fn is_strict(collection: &Path) -> bool {
    collection.join(STRICT_MODE).exists()
}

/// Records that the collection in this folder is in strict mode.
pub(crate) fn mark_strict(collection: &Path) -> io::Result<()> {
    fs::write(collection.join(STRICT_MODE), "")
}

/// Removes old log segments: the engine flushes with every change and replays nothing.
///
/// The newest segment stays, because change numbers continue from it.
pub(crate) fn remove_old_log(collection: &Path) -> io::Result<()> {
    let log = collection.join("wal");
    let Ok(entries) = fs::read_dir(&log) else {
        return Ok(());
    };
    let mut closed: Vec<(u64, PathBuf)> = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let Some(from) = name.strip_prefix("closed-").and_then(|from| from.parse().ok()) {
            closed.push((from, path));
        }
    }
    closed.sort();
    closed.pop();
    closed.iter().try_for_each(|(_, path)| fs::remove_file(path))
}
