//! The `--data` option that selects a local cloud.

use std::path::PathBuf;

use clap::Args;
use local::registry::{self, DEFAULT_DATA, NotFound, RunningCloud};

/// Data folder of a local cloud.
#[derive(Debug, Args)]
pub(crate) struct FolderArgs {
    /// Data folder of the local cloud [default: that of the running cloud, or `.local-cloud`]
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
}

impl FolderArgs {
    /// Returns the running local cloud.
    pub(crate) fn find(&self) -> Result<RunningCloud, NotFound> {
        registry::find(self.data.as_deref())
    }

    /// True if a local cloud runs that this option chooses. Fails if several do.
    pub(crate) fn has_running(&self) -> Result<bool, NotFound> {
        match self.find() {
            Ok(_) => Ok(true),
            Err(error) if self.data.is_none() && error.is_ambiguous() => Err(error),
            Err(_) => Ok(false),
        }
    }

    /// Returns the folder to start a cloud on.
    pub(crate) fn folder(&self) -> PathBuf {
        self.data.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_DATA))
    }

    /// Returns the folder of a command that needs no running cloud: the named one, or else that of the running cloud, which the
    /// other commands choose too. The one of this folder, if none runs.
    pub(crate) fn folder_or_running(&self) -> PathBuf {
        if self.data.is_some() {
            return self.folder();
        }
        self.find().map_or_else(|_| self.folder(), |cloud| cloud.data)
    }
}
