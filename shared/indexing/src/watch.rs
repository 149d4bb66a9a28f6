//! When to index again: a folder's changes, told once they have come to rest.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ignore::gitignore::Gitignore;
pub use notify::Error;
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

/// How long nothing may change before it is told.
const REST: Duration = Duration::from_millis(400);
/// The longest that a change waits, however much goes on.
const LONGEST: Duration = Duration::from_secs(10);

/// Changes of a folder, until it is dropped.
#[derive(Debug)]
pub struct Changes {
    changed: mpsc::Receiver<()>,
    _watcher: RecommendedWatcher,
}

impl Changes {
    /// Begins to watch.
    ///
    /// # Errors
    /// What the system says when it can't watch.
    pub fn of(folder: &Path) -> notify::Result<Self> {
        let folder = folder.canonicalize().map_err(notify::Error::io)?;
        // One place is enough: what counts is that something changed.
        let (tell, changed) = mpsc::channel(1);
        let (ignored, root) = (Gitignore::new(folder.join(".gitignore")).0, folder.clone());
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let counts = |path: &PathBuf| counts(&root, path, &ignored);
            // An error may stand for changes that were lost.
            if event.is_err()
                || event.is_ok_and(|event| !event.kind.is_access() && event.paths.iter().any(counts))
            {
                let _ = tell.try_send(());
            }
        })?;
        watcher.watch(&folder, RecursiveMode::Recursive)?;
        Ok(Self { changed, _watcher: watcher })
    }

    /// Waits until something changed and then came to rest.
    pub async fn next(&mut self) {
        if self.changed.recv().await.is_none() {
            return std::future::pending().await;
        }
        let until = Instant::now() + LONGEST;
        while let Ok(Ok(Some(()))) = timeout_at(until, timeout(REST, self.changed.recv())).await {}
    }
}

/// Whether a change at this path may change what is indexed.
fn counts(root: &Path, path: &Path, ignored: &Gitignore) -> bool {
    let Ok(below) = path.strip_prefix(root) else { return false };
    let is_internal = below.iter().any(|part| part == ".git");
    !is_internal && !ignored.matched_path_or_any_parents(below, path.is_dir()).is_ignore()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".gitignore"), "/target\n").unwrap();
        let ignored = Gitignore::new(folder.path().join(".gitignore")).0;
        let counts = |path: &str| counts(folder.path(), &folder.path().join(path), &ignored);
        assert!(counts("src/a.rs"));
        assert!(!counts("target/debug/a"));
        assert!(!counts(".git/index"));
    }
}
