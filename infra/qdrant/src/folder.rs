//! Folder of a collection: below the engine's, with the collection's name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::refusal::Refusal;

/// The longest name of a collection, in bytes: that of a file.
const LONGEST_NAME: usize = 200;

/// The folder of a collection, or why its name can't be one.
pub(crate) fn of_collection(root: &Path, name: &str) -> Result<PathBuf, Refusal> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > LONGEST_NAME || name.starts_with('.') || !name.chars().all(plain) {
        return Err(Refusal::invalid(format!(
            "`{name}` can't name a collection: 1 to {LONGEST_NAME} of the letters a to z, digits, `-`, `_` and `.`, \
             not beginning with `.`"
        )));
    }
    Ok(root.join(name))
}

/// The collections that are kept, by name.
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

/// Removes what the engine logged and will never read: it flushes with every change, and replays nothing.
///
/// The newest part stays, since the numbers of changes go on from it.
pub(crate) fn forget_old_log(collection: &Path) -> io::Result<()> {
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
