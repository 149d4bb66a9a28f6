//! The tools that an MCP server offers, in a connection's form.

use std::time::Duration;

use agent::connection::{ConnectionSecrets, Listing, Offer, OfferedTool};
use contracts::read::{ExcludedTool, ToolHint};
use mcp_client::{Hints, Tool};
use tokio::time::timeout;

use crate::{
    access::{Access, AwsCredentials, Principal},
    mcp_connect::connect,
};

/// Lists the tools of a connection's server.
pub(crate) async fn offer<S: ConnectionSecrets, C: AwsCredentials>(
    access: &Access<S, C>,
    Listing { org, connection, token, .. }: Listing<'_>,
) -> Result<Offer, String> {
    let time = Duration::from_secs(connection.timeout_seconds.into());
    let listed = timeout(time, async {
        let principal = Principal { org, connection: connection.id.as_str(), token };
        let (session, secrecy) =
            connect(access, connection.server_url(), &connection.authentication, principal, time)
                .await
                .map_err(|unconnected| unconnected.reason)?;
        let list = session.list_tools().await;
        session.close().await;
        list.map_err(|fault| secrecy.hide(&format!("The tools can't be listed: {fault}.")))
    });
    let list = listed.await.unwrap_or_else(|_| Err(format!("The server didn't respond within {time:?}.")))?;
    let excluded =
        list.excluded.into_iter().map(|tool| ExcludedTool { name: tool.name, reason: tool.reason });
    Ok(Offer { tools: list.tools.into_iter().map(offered).collect(), excluded: excluded.collect() })
}

/// Returns a server's tool in a connection's form.
pub(crate) fn offered(tool: Tool) -> OfferedTool {
    let description =
        if tool.description.trim().is_empty() { tool.title.unwrap_or_default() } else { tool.description };
    OfferedTool::new(tool.name, description, tool.input_schema, hints(tool.hints))
}

fn hints(hints: Hints) -> Vec<ToolHint> {
    let all = [
        (hints.read_only, ToolHint::ReadOnly),
        (hints.destructive, ToolHint::Destructive),
        (hints.idempotent, ToolHint::Idempotent),
        (hints.open_world, ToolHint::OpenWorld),
    ];
    all.into_iter().filter_map(|(hint, word)| (hint == Some(true)).then_some(word)).collect()
}
