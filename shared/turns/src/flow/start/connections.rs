//! The tools of connections that a turn gets, from the documents of its org.

use std::collections::{BTreeMap, BTreeSet};

use agent::{
    connection::{ToolName, model_name},
    tool::remote::RemoteTool,
};
use contracts::id::{ConnectionId, OrgId};
use futures::future::try_join_all;

use crate::ports::{Documents, TypedDocuments, Unavailable};

/// The tools, and warnings about names that have become wrong since their document was written.
#[derive(Debug, Default)]
pub(super) struct NamedTools {
    pub(super) tools: Vec<RemoteTool>,
    pub(super) warnings: Vec<String>,
}

/// Returns the tools with these names for an agent. Reads each connection once.
pub(super) async fn named_tools(
    store: &impl Documents,
    org: &OrgId,
    agent: &str,
    names: &[String],
) -> Result<NamedTools, Unavailable> {
    let mut found = NamedTools::default();
    if names.is_empty() {
        return Ok(found);
    }
    let parsed: Vec<ToolName> = names.iter().filter_map(|name| name.parse().ok()).collect();
    let ids: BTreeSet<&ConnectionId> = parsed.iter().map(|name| &name.connection).collect();
    let reads =
        ids.into_iter().map(|id| async move { Ok::<_, Unavailable>((id, store.connection(org, id).await?)) });
    let connections: BTreeMap<_, _> = try_join_all(reads).await?.into_iter().collect();
    let mut offered = BTreeSet::new();
    for ToolName { connection: id, tool } in &parsed {
        let Some((connection, version)) = connections.get(id).and_then(Option::as_ref) else {
            found.warnings.push(format!("The org has no connection {id}. The turn runs without its tools."));
            continue;
        };
        if !connection.admits(agent) {
            let warning = format!(
                "The connection {id} doesn't admit the agent {agent}. The turn runs without its tools."
            );
            found.warnings.push(warning);
            continue;
        }
        if let Some(tool) = tool
            && connection.tool(tool).is_none()
        {
            let warning = format!("The connection {id} has no tool {tool}. The turn runs without it.");
            found.warnings.push(warning);
        }
        let named = connection.tools.iter().filter(|own| tool.as_ref().is_none_or(|tool| *tool == own.name));
        let new = named.filter(|own| offered.insert(model_name(id, &own.name)));
        found.tools.extend(new.map(|own| connection.remote_tool(own, *version)));
    }
    Ok(found)
}
