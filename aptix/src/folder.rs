//! Which local cloud a command is about.

use std::path::PathBuf;

use clap::Args;

/// The folder of a local cloud.
#[derive(Debug, Args)]
pub(crate) struct Folder {
    /// The folder that keeps the state.
    #[arg(long, value_name = "FOLDER", default_value = ".local-cloud")]
    pub(crate) data: PathBuf,
}
