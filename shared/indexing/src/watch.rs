//! Watches a folder and reports changes once they have settled.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ignore::gitignore::Gitignore;
pub use notify::Error;
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

/// The quiet time before changes are reported.
const QUIET_PERIOD: Duration = Duration::from_millis(400);
/// The maximum delay of a report while files keep changing.
const MAX_DELAY: Duration = Duration::from_secs(10);

/// A watcher of a folder, which stops when dropped.
#[derive(Debug)]
pub struct Changes {
    changed: mpsc::Receiver<()>,
    _watcher: RecommendedWatcher,
}

impl Changes {
    /// Starts to watch.
    ///
    /// # Errors
    /// Returns the system's error if the folder can't be watched.
    pub fn watch(folder: &Path) -> notify::Result<Self> {
        let folder = folder.canonicalize().map_err(notify::Error::io)?;
        // A capacity of one is enough: the reports carry no data.
        let (sender, changed) = mpsc::channel(1);
        let (ignored, root) = (Gitignore::new(folder.join(".gitignore")).0, folder.clone());
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let is_relevant = |path: &PathBuf| is_relevant(&root, path, &ignored);
            // An error may mean that changes were lost.
            if event.is_err()
                || event.is_ok_and(|event| !event.kind.is_access() && event.paths.iter().any(is_relevant))
            {
                let _ = sender.try_send(());
            }
        })?;
        watcher.watch(&folder, RecursiveMode::Recursive)?;
        Ok(Self { changed, _watcher: watcher })
    }

    /// Waits until a change has settled.
    pub async fn next(&mut self) {
        if self.changed.recv().await.is_none() {
            return std::future::pending().await;
        }
        let until = Instant::now() + MAX_DELAY;
        while let Ok(Ok(Some(()))) = timeout_at(until, timeout(QUIET_PERIOD, self.changed.recv())).await {}
    }
}

/// Returns true if a change at this path can affect the index.
fn is_relevant(root: &Path, path: &Path, ignored: &Gitignore) -> bool {
    let Ok(below) = path.strip_prefix(root) else { return false };
    let is_internal = below.iter().any(|part| part == ".git");
    !is_internal && !ignored.matched_path_or_any_parents(below, path.is_dir()).is_ignore()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_paths_are_not_relevant() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".gitignore"), "/target\n").unwrap();
        let ignored = Gitignore::new(folder.path().join(".gitignore")).0;
        let is_relevant = |path: &str| is_relevant(folder.path(), &folder.path().join(path), &ignored);
        assert!(is_relevant("src/a.rs"));
        assert!(!is_relevant("target/debug/a"));
        assert!(!is_relevant(".git/index"));
    }
}
