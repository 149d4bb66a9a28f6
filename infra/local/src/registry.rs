//! The registry of this user's running local clouds: how a command finds one from any folder.
//!
//! Each `aptix up` writes a file that names its data folder and the folder it was started in. Whether it still runs is
//! read from the data folder's lock, so that a file that a crash left behind is harmless.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::data_folder;
use crate::discovery;
use crate::private_file;

/// Data folder of a local cloud, relative to the folder it is started in.
pub const DEFAULT_DATA: &str = ".local-cloud";
/// Most files that are read.
const MAX_ENTRIES: usize = 256;

/// A running local cloud.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningCloud {
    /// URL of the API, without a trailing slash.
    pub api_url: String,
    /// The data folder.
    pub data: PathBuf,
    /// Folder that the cloud was started in.
    project: Option<PathBuf>,
}

/// No local cloud is running where a command looks for one, or several run and none is chosen. The message lists those that run.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct NotFound {
    text: String,
    is_ambiguous: bool,
}

impl NotFound {
    /// True if several clouds run and none is chosen.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        self.is_ambiguous
    }

    fn on(folder: &Path, running: &[RunningCloud]) -> Self {
        let folder = folder.display();
        let text =
            format!("No local cloud is running on the data folder {folder}. Start one with `aptix up`");
        let text = match list(running) {
            lines if lines.is_empty() => format!("{text}, or name its folder with --data."),
            lines => format!("{text}, or choose one that is running with --data:\n{lines}"),
        };
        Self { text, is_ambiguous: false }
    }

    fn several(running: &[RunningCloud]) -> Self {
        let text = format!("Several local clouds are running. Choose one with --data:\n{}", list(running));
        Self { text, is_ambiguous: true }
    }
}

/// Lists clouds, each as its URL and the option that chooses it.
fn list(running: &[RunningCloud]) -> String {
    let lines = running.iter().map(|cloud| format!("  {}  --data {}", cloud.api_url, cloud.data.display()));
    lines.collect::<Vec<_>>().join("\n")
}

/// A file of the registry.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    data: PathBuf,
    project: PathBuf,
}

/// The entry of a cloud. Dropping it removes the file.
#[derive(Debug)]
pub struct Registration(PathBuf);

impl Drop for Registration {
    fn drop(&mut self) {
        // A file that stays behind names a folder without a running cloud.
        let _ = fs::remove_file(&self.0);
    }
}

/// Registers the cloud that this process runs on a data folder. Returns `None` if the system names no folder for state,
/// or none that can be written to: commands then find the cloud in its own folder alone.
#[must_use]
pub fn register(data: &Path) -> Option<Registration> {
    let folder = state_folder()?;
    let entry = Entry { data: data.canonicalize().ok()?, project: env::current_dir().ok()? };
    private_file::create_folder(&folder).ok()?;
    let path = folder.join(format!("{}.json", std::process::id()));
    private_file::write(&path, serde_json::to_vec(&entry).ok()?).ok()?;
    Some(Registration(path))
}

/// Finds the local cloud that a command works on: the one on the named folder, or else the one of this folder, of the
/// nearest folder above it, or the only one that runs.
///
/// # Errors
/// Fails if that leaves no cloud, or several. The message lists those that run, and says how to choose.
pub fn find(data: Option<&Path>) -> Result<RunningCloud, NotFound> {
    let folder = data.unwrap_or(Path::new(DEFAULT_DATA));
    if let Some(found) = running_on(folder, None) {
        return Ok(found);
    }
    let mut all = running();
    if data.is_some() {
        return Err(NotFound::on(folder, &all));
    }
    let here = env::current_dir().unwrap_or_default();
    let depth = |cloud: &RunningCloud| {
        cloud
            .project
            .as_deref()
            .filter(|project| here.starts_with(project))
            .map(|project| project.components().count())
    };
    let nearest = all.iter().enumerate().filter_map(|(index, cloud)| Some((depth(cloud)?, index))).max();
    match (nearest, all.len()) {
        (Some((_, index)), _) => Ok(all.swap_remove(index)),
        (None, 1) => Ok(all.swap_remove(0)),
        (None, 0) => Err(NotFound::on(folder, &all)),
        (None, _) => Err(NotFound::several(&all)),
    }
}

/// Returns the running cloud whose API has this URL.
#[must_use]
pub fn at_url(url: &str) -> Option<RunningCloud> {
    let url = url.trim_end_matches('/').replace("//localhost:", "//127.0.0.1:");
    running().into_iter().find(|cloud| cloud.api_url == url)
}

/// Returns the running clouds, by URL.
fn running() -> Vec<RunningCloud> {
    let Some(files) = state_folder().and_then(|folder| fs::read_dir(folder).ok()) else { return Vec::new() };
    let paths = files.filter_map(|file| Some(file.ok()?.path())).take(MAX_ENTRIES);
    let entries = paths.filter_map(|path| serde_json::from_slice::<Entry>(&fs::read(path).ok()?).ok());
    let mut found: Vec<RunningCloud> =
        entries.filter_map(|entry| running_on(&entry.data, Some(entry.project))).collect();
    found.sort_by(|a, b| a.api_url.cmp(&b.api_url));
    found.dedup();
    found
}

fn running_on(data: &Path, project: Option<PathBuf>) -> Option<RunningCloud> {
    if !data_folder::is_in_use(data) {
        return None;
    }
    let api_url = discovery::endpoints(data).ok()?.api;
    Some(RunningCloud { api_url, data: data.to_owned(), project })
}

/// Returns the folder of the registry, in the system's folder for the state of programs.
fn state_folder() -> Option<PathBuf> {
    let variable = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let default = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/state" };
    let base = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else {
        variable("HOME").map(|home| home.join(default))
    };
    Some(variable("XDG_STATE_HOME").or(base)?.join("aptix").join("clouds"))
}
