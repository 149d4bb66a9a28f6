//! Manages the orgs of client applications in the table of a local cloud or of a deployment.
//!
//! It takes AWS credentials, since a client's org is the tenant of its tokens: no operator of an org may claim a client.

use contracts::id::OrgId;

use crate::stores::{Stores, Unreachable};

/// Clients listed, at most.
const MAX_LISTED: usize = 1_000;

/// Lists clients, one line each with id and org.
///
/// # Errors
/// Fails if the table does not respond.
pub async fn list(stores: &Stores) -> Result<String, Unreachable> {
    let clients = stores.table.client_orgs(MAX_LISTED).await.map_err(|error| stores.unreachable(error))?;
    Ok(clients.into_iter().map(|(client, org)| format!("{client:<40}  {org}\n")).collect())
}

/// Maps a client to an org, in place of the one before.
///
/// # Errors
/// Fails if the table does not respond.
pub async fn put(stores: &Stores, client: &str, org: &OrgId) -> Result<String, Unreachable> {
    stores.table.put_client_org(client, org).await.map_err(|error| stores.unreachable(error))?;
    Ok(format!("Tokens of {client} that name no org belong to {org} within two minutes.\n"))
}

/// Removes the org of a client.
///
/// # Errors
/// Fails if the table does not respond.
pub async fn remove(stores: &Stores, client: &str) -> Result<String, Unreachable> {
    stores.table.remove_client_org(client).await.map_err(|error| stores.unreachable(error))?;
    Ok(format!("Tokens of {client} that name no org are refused within two minutes.\n"))
}
