//! `aptix admin usage-keys`: the API keys that requests of orgs and users count against, in the table of a deployment.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use contracts::id::{OrgId, UserId};
use local::usage_keys::{UsageKey, UsageKeyHolder};

use crate::failure::{Failure, InvalidOption};
use crate::store_args::TableArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum UsageKeys {
    /// List orgs and users with their keys
    List {
        #[command(flatten)]
        table: TableArgs,
    },
    /// Give an org or a user a key of the usage plan, or all of a file; they apply within two minutes
    Put {
        /// Org of the key
        #[arg(required_unless_present = "file")]
        org: Option<OrgId>,
        /// User of the org [default: all users]
        #[arg(long, requires = "org")]
        user: Option<UserId>,
        /// Value of the key in API Gateway
        #[arg(long, value_parser = key, required_unless_present = "file")]
        key: Option<UsageKey>,
        /// JSON object of keys, by names such as `acme` and `acme/ada`
        #[arg(long, conflicts_with_all = ["org", "user", "key"])]
        file: Option<PathBuf>,
        #[command(flatten)]
        table: TableArgs,
    },
    /// Remove a key; its requests count against the org's key, or else the shared one
    Remove {
        #[command(flatten)]
        holder: Holder,
        #[command(flatten)]
        table: TableArgs,
    },
}

/// The callers that a key belongs to.
#[derive(Debug, Args)]
pub(crate) struct Holder {
    /// Org of the key
    org: OrgId,
    /// User of the org [default: all users]
    #[arg(long)]
    user: Option<UserId>,
}

/// Runs the command and returns its output.
pub(crate) async fn run(command: UsageKeys) -> Result<String, Failure> {
    Ok(match command {
        UsageKeys::List { table } => local::usage_keys::list(&table.open().await?).await,
        UsageKeys::Put { file: Some(file), table, .. } => {
            local::usage_keys::put_file(&table.open().await?, &file).await
        }
        UsageKeys::Put { org: Some(org), user, key: Some(key), table, .. } => {
            local::usage_keys::put(&table.open().await?, &UsageKeyHolder { org, user }, &key).await
        }
        UsageKeys::Put { .. } => {
            return Err(InvalidOption::new("Name an org with --key, or a --file.").into());
        }
        UsageKeys::Remove { holder: Holder { org, user }, table } => {
            local::usage_keys::remove(&table.open().await?, &UsageKeyHolder { org, user }).await
        }
    }?)
}

fn key(text: &str) -> Result<UsageKey, String> {
    UsageKey::new(text).map_err(|rule| format!("a key {rule}"))
}
