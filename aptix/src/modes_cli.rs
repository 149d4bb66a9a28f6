//! `aptix modes`: reads, writes and rolls back the modes of an org over the API of any deployment.

use std::path::PathBuf;

use clap::Subcommand;
use contracts::paths::MODES;

use crate::api_args::ApiArgs;
use crate::context_calls as calls;
use crate::failure::Failure;

#[derive(Debug, Subcommand)]
pub(crate) enum Modes {
    /// List the modes of your org, and the built-in ones that it has not replaced
    List {
        #[command(flatten)]
        api: ApiArgs,
    },
    /// Print a mode, in the format of `put`
    Show {
        /// Key of the mode
        key: String,
        /// Number of a version [default: the live one]
        #[arg(long, value_name = "NUMBER")]
        version: Option<u32>,
        #[command(flatten)]
        api: ApiArgs,
    },
    /// Validate and write the modes of a JSON file; turns see them within a minute
    Put {
        /// JSON file with one mode or a list of modes
        file: PathBuf,
        /// Entity tag that the mode must have; `list` prints it
        #[arg(long, value_name = "TAG")]
        if_match: Option<String>,
        #[command(flatten)]
        api: ApiArgs,
    },
    /// Delete a mode; its versions stay, and `rollback` restores it
    Delete {
        /// Key of the mode
        key: String,
        /// Entity tag that the mode must have; `list` prints it
        #[arg(long, value_name = "TAG")]
        if_match: Option<String>,
        #[command(flatten)]
        api: ApiArgs,
    },
    /// List the versions of a mode, newest first
    Versions {
        /// Key of the mode
        key: String,
        #[command(flatten)]
        api: ApiArgs,
    },
    /// Print the difference between two versions of a mode
    Diff {
        /// Key of the mode
        key: String,
        /// Number of the older version
        from: u32,
        /// Number of the newer version [default: the live one]
        to: Option<u32>,
        #[command(flatten)]
        api: ApiArgs,
    },
    /// Restore an earlier version of a mode, as a new version
    Rollback {
        /// Key of the mode
        key: String,
        /// Number of the version to restore
        version: u32,
        /// Entity tag that the mode must have; `list` prints it
        #[arg(long, value_name = "TAG")]
        if_match: Option<String>,
        #[command(flatten)]
        api: ApiArgs,
    },
}

/// Runs the command and returns its output.
pub(crate) async fn run(command: Modes) -> Result<String, Failure> {
    match command {
        Modes::List { api } => calls::list(&calls::open(api)?, MODES).await,
        Modes::Show { key, version, api } => calls::content(&calls::open(api)?, MODES, &key, version).await,
        Modes::Put { file, if_match, api } => {
            calls::put(&calls::open(api)?, &file, if_match.as_deref(), Some("mode")).await
        }
        Modes::Delete { key, if_match, api } => {
            calls::delete(&calls::open(api)?, MODES, &key, if_match.as_deref()).await?;
            Ok(format!("Deleted {key}. Restore it with `aptix modes rollback`.\n"))
        }
        Modes::Versions { key, api } => calls::versions(&calls::open(api)?, MODES, &key).await,
        Modes::Diff { key, from, to, api } => calls::diff(&calls::open(api)?, MODES, &key, from, to).await,
        Modes::Rollback { key, version, if_match, api } => {
            calls::roll_back(&calls::open(api)?, MODES, &key, version, if_match.as_deref()).await
        }
    }
}
