//! `aptix admin providers`: the additional model providers in the table of a deployment.

use std::path::PathBuf;

use clap::Subcommand;

use crate::failure::Failure;
use crate::store_args::TableArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum Providers {
    /// Print the list as JSON, in the format of `put`
    #[command(visible_alias = "show")]
    Get {
        #[command(flatten)]
        table: TableArgs,
    },
    /// Validate the list in a JSON file, and replace the stored list
    Put {
        /// JSON file with a list of providers
        file: PathBuf,
        #[command(flatten)]
        table: TableArgs,
    },
    /// Remove the list
    Remove {
        #[command(flatten)]
        table: TableArgs,
    },
}

/// Runs the command and returns its output.
pub(crate) async fn run(command: Providers) -> Result<String, Failure> {
    Ok(match command {
        Providers::Get { table } => local::model_providers::get(&table.open().await?).await,
        Providers::Put { file, table } => local::model_providers::put(&table.open().await?, &file).await,
        Providers::Remove { table } => local::model_providers::remove(&table.open().await?).await,
    }?)
}
