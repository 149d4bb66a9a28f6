//! Connections: the checks of documents that depend on them, their secrets, and calls of their tools by an operator.

use std::time::Duration;

use agent::{
    connection::{
        Connection, ConnectionSecret as StoredSecret, ConnectionSecrets, SecretsUnavailable, ToolName,
        ToolOffers, model_name,
    },
    context::{ContextId, ContextKind, DOCUMENT, Document},
    fault::{Fault, Faults},
    tool::{
        self, Definition, Limits,
        remote::{CancelSignal, ProgressSink, RemoteCall, RemoteOutcome, RemoteTools},
    },
    webhook::{MAX_WEBHOOKS, Webhook},
};
use contracts::{
    id::{ConnectionId, OrgId},
    read::{ConnectionSecret, ToolTrial, ToolTrialOutcome},
    request::{ConnectionSecretRequest, ToolTrialRequest},
};
use protocol::Caller;

use crate::{
    document_view,
    flow::access,
    ports::{AgentDeps, DocumentId, Documents, Host, Timer, Unavailable},
    refusal::Refusal,
};

/// Checks what a document says of connections: the URL of its own, or the tools that it names.
///
/// # Errors
/// Returns every fault, with the path of the member.
pub(super) async fn check_connections(
    deps: &impl AgentDeps,
    org: &OrgId,
    document: &Document,
) -> Result<(), Refusal> {
    let faults = match document {
        Document::Connection(connection) => {
            let urls = [("Url", connection.url.as_ref()), ("DocumentUrl", connection.document_url.as_ref())];
            let checked = urls.into_iter().filter_map(|(member, url)| {
                let message = deps.remote_tools().check_url(url?).err()?;
                Some(Fault { path: format!("{DOCUMENT}.{member}"), message })
            });
            let denied = deps.remote_tools().check_access(connection).err();
            let denied =
                denied.map(|(member, message)| Fault { path: format!("{DOCUMENT}.{member}"), message });
            checked.chain(denied).collect()
        }
        Document::AgentContext(agent) => {
            let id = Some(agent.id.as_str());
            check_tools(deps.store(), org, id, &agent.tools, &agent.client_tools).await?
        }
        Document::ConversationContext(context) => {
            check_tools(deps.store(), org, None, &context.tools, &context.client_tools).await?
        }
        Document::Webhook(webhook) => check_webhook(deps, org, webhook).await?,
        Document::Mode(_) => Vec::new(),
    };
    Faults::new(faults).map_or(Ok(()), |faults| Err(Refusal::InvalidContext(faults)))
}

/// Checks the URL of a webhook, and the number of webhooks of the org.
async fn check_webhook(deps: &impl AgentDeps, org: &OrgId, webhook: &Webhook) -> Result<Vec<Fault>, Refusal> {
    let mut faults = Vec::new();
    if let Err(message) = deps.remote_tools().check_url(&webhook.url) {
        faults.push(Fault { path: format!("{DOCUMENT}.Url"), message });
    }
    let others = deps.store().contexts(org, ContextKind::Webhook, None, MAX_WEBHOOKS).await?;
    let is_new = !others.iter().any(|(other, _)| other.as_str() == webhook.id.as_str());
    if is_new && others.len() >= MAX_WEBHOOKS {
        let message =
            format!("is one too many: an org has at most {MAX_WEBHOOKS} webhooks. Delete one first");
        faults.push(Fault { path: format!("{DOCUMENT}.Id"), message });
    }
    Ok(faults)
}

/// Checks the tools that a document names. `agent` is the id of the agent, if it is one.
async fn check_tools(
    store: &impl Documents,
    org: &OrgId,
    agent: Option<&str>,
    names: &[String],
    client_tools: &[Definition],
) -> Result<Vec<Fault>, Refusal> {
    let mut faults = Vec::new();
    for (n, name) in names.iter().enumerate() {
        let mut add = |message: String| {
            faults.push(Fault { path: format!("{DOCUMENT}.Tools[{n}]"), message });
        };
        if names.iter().take(n).any(|other| other == name) {
            add(format!("{name:?} is listed twice"));
        }
        // Names are valid: the rule of the member has checked them.
        let Ok(ToolName { connection: id, tool }) = name.parse() else { continue };
        let Some((connection, _)) = find(store, org, &id).await? else {
            add(format!("the org has no connection {:?}. Create it first", id.as_str()));
            continue;
        };
        if agent.is_some_and(|agent| !connection.admits(agent)) {
            add(format!("the connection {:?} doesn't admit this agent. Add it to its Agents", id.as_str()));
        }
        if let Some(tool) = &tool
            && connection.tool(tool).is_none()
        {
            add(format!("the connection {:?} has no tool {tool:?}", id.as_str()));
        }
        let named = connection.tools.iter().filter(|own| tool.as_ref().is_none_or(|tool| *tool == own.name));
        for own in named {
            let name = model_name(&id, &own.name);
            if client_tools.iter().any(|client| client.name == name) {
                add(format!("{name:?} is the name of a client tool too"));
            }
        }
    }
    Ok(faults)
}

/// Returns a connection as it is stored, with its version.
async fn find(
    store: &impl Documents,
    org: &OrgId,
    id: &ConnectionId,
) -> Result<Option<(Connection, u32)>, Unavailable> {
    let id = ContextId::Connection(id.clone());
    let head = store.document(org, &DocumentId::Context(id.clone())).await?;
    let Some(head) = head.filter(|head| head.content.is_some()) else { return Ok(None) };
    Ok(match document_view::parse(&id, &head)? {
        Document::Connection(connection) => Some((connection, head.version.unwrap_or_default())),
        Document::AgentContext(_)
        | Document::ConversationContext(_)
        | Document::Mode(_)
        | Document::Webhook(_) => None,
    })
}

/// Returns a connection for an operator.
async fn named(
    deps: &impl AgentDeps,
    caller: &Caller,
    id: &ContextId,
) -> Result<(ConnectionId, Connection, u32), Refusal> {
    access::require_operator(caller)?;
    let ContextId::Connection(connection) = id else { return Err(Refusal::context_not_found(id)) };
    let found = find(deps.store(), &caller.org, connection).await?;
    let (document, version) = found.ok_or_else(|| Refusal::context_not_found(id))?;
    Ok((connection.clone(), document, version))
}

/// Stores the secret of a connection, for the host that it has now.
///
/// # Errors
/// If the caller is no operator, there is no such connection, it sends no secret, or the secrets can't be reached.
pub async fn set_connection_secret(
    deps: &impl AgentDeps,
    secrets: &impl ConnectionSecrets,
    caller: &Caller,
    id: ContextId,
    request: ConnectionSecretRequest,
) -> Result<ConnectionSecret, Refusal> {
    let (connection_id, connection, _) = named(deps, caller, &id).await?;
    if !connection.authentication.needs_secret() {
        let rule = "has no use: the connection sends no secret. Set Authentication.Scheme to bearer or header first.";
        return Err(Refusal::invalid_member("Value", rule));
    }
    let host = deps.remote_tools().check_url(connection.server_url());
    let host = host.map_err(|rule| Refusal::invalid_member("Url", &format!("of the connection {rule}.")))?;
    let secret = StoredSecret { host: host.clone(), value: request.value };
    let unavailable = |SecretsUnavailable(source)| Unavailable { what: "the secrets of connections", source };
    secrets.set_secret(&caller.org, &connection_id, &secret).await.map_err(unavailable)?;
    access::audit_connection("connection_secret", caller, &connection_id, None);
    Ok(ConnectionSecret { connection_id, host })
}

/// Calls a tool of a connection once.
///
/// # Errors
/// If the caller is no operator, there is no such connection or tool, or the arguments don't match its schema.
pub async fn try_tool(
    deps: &impl AgentDeps,
    caller: &Caller,
    id: ContextId,
    request: &ToolTrialRequest,
) -> Result<ToolTrial, Refusal> {
    let (connection_id, connection, version) = named(deps, caller, &id).await?;
    let tool = connection.tool(&request.tool);
    let tool = tool.ok_or_else(|| Refusal::invalid_member("Tool", "must name a tool of the connection."))?;
    let arguments = tool::parse_arguments(&request.arguments, &tool.parameters, &Limits::default());
    let arguments =
        arguments.map_err(|fault| Refusal::invalid_member("ArgumentsJson", &format!("is wrong: {fault}")))?;
    access::audit_connection("connection_try", caller, &connection_id, Some(&tool.name));
    let (host, remote) = (deps.host(), connection.remote_tool(tool, version));
    let (started, key) = (host.monotonic(), host.attempt_id().to_string());
    let call = RemoteCall {
        org: &caller.org,
        user: &caller.user.id,
        token: caller.token.as_ref(),
        tool: &remote,
        arguments: &arguments,
        key: &key,
        timeout: Duration::from_secs(connection.timeout_seconds.into()),
        progress: ProgressSink::default(),
        cancel: CancelSignal::default(),
    };
    let outcome = deps.remote_tools().call(call, &|| true).await;
    let taken = host.monotonic().saturating_sub(started).as_millis();
    let (outcome, result, message) = match outcome {
        RemoteOutcome::Done(success) => (ToolTrialOutcome::Done, Some(success.result), None),
        RemoteOutcome::Refused(message) => (ToolTrialOutcome::Refused, None, Some(message)),
        RemoteOutcome::NotSent(message) => (ToolTrialOutcome::NotSent, None, Some(message)),
        RemoteOutcome::Unknown(message) => (ToolTrialOutcome::Unknown, None, Some(message)),
    };
    let duration_milliseconds = u64::try_from(taken).unwrap_or(u64::MAX);
    Ok(ToolTrial { outcome, result, message, duration_milliseconds })
}
