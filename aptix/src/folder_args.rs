//! The `--data` option that selects a local cloud.

use std::path::PathBuf;

use clap::Args;

/// Data folder of a local cloud.
#[derive(Debug, Args)]
pub(crate) struct FolderArgs {
    /// Data folder of the local cloud
    #[arg(long, value_name = "FOLDER", default_value = ".local-cloud")]
    pub(crate) data: PathBuf,
}
