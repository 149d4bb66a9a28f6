//! A connection's tools beside those of its server, and the changes that an operator accepts.

use std::collections::HashSet;

use agent::{
    connection::{
        Comparison, Connection, Difference, Listing, Protocol, ToolName, ToolOffers, compare, model_name,
    },
    context::{ContextId, ContextKind, Document},
};
use contracts::{
    id::{ConnectionId, OrgId},
    read::{ConnectionRefresh, RefreshOutcome, ToolChange, ToolRefresh},
    request::ConnectionRefreshRequest,
};
use protocol::Caller;

use crate::{
    document_view,
    flow::{
        access,
        admin::documents::{self, Precondition},
    },
    ports::{AgentDeps, DocumentId, Documents, Unavailable},
    refusal::Refusal,
};

/// The most connections of an org whose tools a server's texts are checked for.
const MAX_CONNECTIONS: usize = 100;

/// Compares the tools of a connection with those of its server, and writes the named changes.
///
/// # Errors
/// If the caller is no operator, there is no such connection, its protocol has no list, a name is unknown, or connection or
/// server have changed since the comparison that the request accepts.
pub async fn refresh_connection(
    deps: &impl AgentDeps,
    caller: &Caller,
    id: ContextId,
    request: &ConnectionRefreshRequest,
    required: &Precondition,
) -> Result<ConnectionRefresh, Refusal> {
    let (connection_id, connection, tag) = tagged(deps, caller, &id).await?;
    if !required.admits(Some(&tag)) {
        return Err(Refusal::document_changed(&id.into(), Some(&tag)));
    }
    if matches!(connection.protocol, Protocol::Http | Protocol::Lambda) {
        let rule =
            "of the connection is http or lambda, which has no list of tools. Write its tools yourself.";
        return Err(Refusal::invalid_member("Protocol", rule));
    }
    if request.document.is_some() && connection.protocol != Protocol::Openapi {
        return Err(Refusal::invalid_member(
            "Document",
            "is only for connections with the protocol openapi.",
        ));
    }
    access::audit_connection("connection_refresh", caller, &connection_id, None);
    let document = request.document.as_deref();
    let listing =
        Listing { org: &caller.org, connection: &connection, token: caller.token.as_ref(), document };
    let offer = match deps.remote_tools().offer(listing).await {
        Ok(offer) => offer,
        Err(message) => return Ok(unavailable(message, tag)),
    };
    let others = other_names(deps, &caller.org, &connection).await?;
    let compared = compare(&connection, offer, &others);
    if request.accept.is_empty() {
        return Ok(view(compared, &connection, &[], tag));
    }
    if request.hash.as_ref() != Some(&compared.hash) {
        return Err(Refusal::server_changed());
    }
    let accepted = compared.accept(&connection, &request.accept);
    let accepted = accepted.map_err(|unknown| Refusal::invalid_member("Accept", &format!("{unknown}.")))?;
    // The connection that was compared, so that no change of another operator is lost.
    let unchanged = Precondition::Matches(vec![tag]);
    let written = documents::put_connection(deps, caller, accepted.clone(), &unchanged).await?;
    let tag = written.etag().unwrap_or_default().to_owned();
    Ok(view(compared, &accepted, &request.accept, tag))
}

/// Returns a connection for an operator, with its entity tag.
async fn tagged(
    deps: &impl AgentDeps,
    caller: &Caller,
    id: &ContextId,
) -> Result<(ConnectionId, Connection, String), Refusal> {
    access::require_operator(caller)?;
    let document = DocumentId::from(id.clone());
    let head = deps.store().document(&caller.org, &document).await?;
    let tag = document_view::etag(&document, head.as_ref())?;
    let (ContextId::Connection(connection_id), Some(head), Some(tag)) = (id, head, tag) else {
        return Err(Refusal::context_not_found(id));
    };
    match document_view::parse(id, &head)? {
        Document::Connection(connection) => Ok((connection_id.clone(), connection, tag)),
        Document::AgentContext(_)
        | Document::ConversationContext(_)
        | Document::Mode(_)
        | Document::Webhook(_) => Err(Refusal::context_not_found(id)),
    }
}

/// Returns the names, for models and for people, of every tool that isn't the connection's: those of the org's other
/// connections, and those of the service.
async fn other_names(
    deps: &impl AgentDeps,
    org: &OrgId,
    connection: &Connection,
) -> Result<HashSet<String>, Unavailable> {
    let mut names: HashSet<String> = deps.config().tools.names().map(str::to_owned).collect();
    for (id, head) in deps.store().contexts(org, ContextKind::Connection, None, MAX_CONNECTIONS).await? {
        let Document::Connection(other) = document_view::parse(&id, &head)? else { continue };
        if other.id == connection.id {
            continue;
        }
        for tool in &other.tools {
            names.insert(model_name(&other.id, &tool.name));
            names
                .insert(ToolName { connection: other.id.clone(), tool: Some(tool.name.clone()) }.to_string());
        }
    }
    Ok(names)
}

fn unavailable(message: String, tag: String) -> ConnectionRefresh {
    ConnectionRefresh {
        outcome: RefreshOutcome::Unavailable,
        message: Some(message),
        hash: None,
        etag: Some(tag),
        tools: Vec::new(),
        excluded: Vec::new(),
    }
}

fn view(
    compared: Comparison,
    connection: &Connection,
    accepted: &[String],
    tag: String,
) -> ConnectionRefresh {
    let Comparison { differences, excluded, hash } = compared;
    let outcome = if accepted.is_empty() { RefreshOutcome::Compared } else { RefreshOutcome::Accepted };
    let tools = differences.into_iter().map(|difference| tool(difference, connection, accepted)).collect();
    ConnectionRefresh { outcome, message: None, hash: Some(hash), etag: Some(tag), tools, excluded }
}

fn tool(difference: Difference, connection: &Connection, accepted: &[String]) -> ToolRefresh {
    let is_accepted = difference.is_in(accepted);
    let name = difference.name().to_owned();
    let Difference { change, accepted: own, offered, hints } = difference;
    let either = offered.as_ref().or(own.as_ref());
    let remote_name = either.map_or(&name, |tool| tool.remote_name.as_ref().unwrap_or(&name)).clone();
    let class = connection.tool(&name).or(either).map(|tool| tool.class).unwrap_or_default();
    let shown = |tool: Option<agent::connection::ConnectionTool>, is_shown: bool| {
        tool.filter(|_| is_shown).map(|tool| (tool.description, tool.parameters)).unzip()
    };
    let (description, parameters) = shown(offered, matches!(change, ToolChange::New | ToolChange::Changed));
    let (accepted_description, accepted_parameters) =
        shown(own, matches!(change, ToolChange::Changed | ToolChange::Removed));
    ToolRefresh {
        name,
        remote_name,
        change,
        is_accepted,
        class: class.as_str().to_owned(),
        hints,
        description,
        parameters,
        accepted_description,
        accepted_parameters,
    }
}
