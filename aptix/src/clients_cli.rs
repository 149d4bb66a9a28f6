//! `aptix clients`: orgs of client applications whose tokens name none, in the table of a deployment.

use clap::Subcommand;
use contracts::id::OrgId;

use crate::failure::Failure;
use crate::store_args::TableArgs;

/// The longest id of a client application.
const MAX_CLIENT_CHARS: usize = 256;

#[derive(Debug, Subcommand)]
pub(crate) enum Clients {
    /// List client applications with their orgs
    List {
        #[command(flatten)]
        table: TableArgs,
    },
    /// Map a client application to an org; its tokens are accepted within two minutes
    Put {
        /// Id of the client, as its tokens name it
        #[arg(value_parser = client_id)]
        client: String,
        /// Org of the client
        #[arg(long)]
        org: OrgId,
        #[command(flatten)]
        table: TableArgs,
    },
    /// Remove a client application; its tokens are refused within two minutes
    Remove {
        /// Id of the client
        #[arg(value_parser = client_id)]
        client: String,
        #[command(flatten)]
        table: TableArgs,
    },
}

/// Runs the command and returns its output.
pub(crate) async fn run(command: Clients) -> Result<String, Failure> {
    Ok(match command {
        Clients::List { table } => local::clients::list(&table.open().await?).await,
        Clients::Put { client, org, table } => local::clients::put(&table.open().await?, &client, &org).await,
        Clients::Remove { client, table } => local::clients::remove(&table.open().await?, &client).await,
    }?)
}

fn client_id(text: &str) -> Result<String, String> {
    let is_valid = !text.trim().is_empty() && !text.chars().any(char::is_control);
    match is_valid && text.chars().count() <= MAX_CLIENT_CHARS {
        true => Ok(text.to_owned()),
        false => Err(format!("a client id has 1 to {MAX_CLIENT_CHARS} characters on one line")),
    }
}
