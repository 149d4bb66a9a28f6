//! `aptix contexts`: reads and writes contexts in the table of a local cloud or of a deployment.

use std::path::PathBuf;

use clap::Subcommand;
use contracts::id::OrgId;

use crate::confirmation::is_confirmed;
use crate::failure::{Failure, InvalidOption};
use crate::store_args::TableArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum TableContexts {
    /// List the contexts of an org
    List {
        /// Org that owns the contexts
        #[arg(long, default_value = "acme")]
        org: String,
        #[command(flatten)]
        table: TableArgs,
    },
    /// Print the JSON Schema of context files, for editors
    Schema,
    /// Print the contexts with an id, in the format of `put`
    Get {
        /// Id of the contexts
        id: String,
        /// Org that owns the contexts
        #[arg(long, default_value = "acme")]
        org: String,
        #[command(flatten)]
        table: TableArgs,
    },
    /// Delete the contexts with an id; functions see it within a minute
    Delete {
        /// Id of the contexts
        id: String,
        /// Delete without asking
        #[arg(long)]
        yes: bool,
        /// Org that owns the contexts
        #[arg(long, default_value = "acme")]
        org: String,
        #[command(flatten)]
        table: TableArgs,
    },
    /// Validate and write the contexts of a JSON file; functions see them within a minute
    Put {
        /// JSON file with one context or a list of contexts
        file: PathBuf,
        /// Org that owns the contexts
        #[arg(long, default_value = "acme")]
        org: String,
        #[command(flatten)]
        table: TableArgs,
    },
}

pub(crate) async fn run(command: TableContexts) -> Result<String, Failure> {
    if let TableContexts::List { org, .. }
    | TableContexts::Get { org, .. }
    | TableContexts::Delete { org, .. }
    | TableContexts::Put { org, .. } = &command
    {
        let valid = OrgId::new(org.as_str()).map_err(local::contexts::Error::Org);
        valid.map_err(InvalidOption::new)?;
    }
    let text = match command {
        TableContexts::List { org, table } => local::contexts::list(&table.open().await?, &org).await,
        TableContexts::Schema => Ok(local::contexts::schema()),
        TableContexts::Get { id, org, table } => local::contexts::get(&table.open().await?, &org, &id).await,
        TableContexts::Delete { id, yes, org, table } => {
            let stores = table.open().await?;
            // Fails if there are none.
            local::contexts::get(&stores, &org, &id).await?;
            let question = format!("Delete the contexts {id:?} of {org}?");
            if !yes && !is_confirmed(&question, "Pass --yes to delete.")? {
                return Ok("Nothing was deleted.\n".to_owned());
            }
            local::contexts::delete(&stores, &org, &id).await
        }
        TableContexts::Put { file, org, table } => {
            local::contexts::put(&table.open().await?, &org, &file).await
        }
    };
    Ok(text? + "\n")
}
