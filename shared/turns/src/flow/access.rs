//! Access control: the caller's role in a session, and the audit log.

use agent::context::{ContextId, ContextKind};
use contracts::{
    id::{ConnectionId, SessionId, WebhookId},
    request::{EffectResolution, OrgSettings},
};
use protocol::{
    Caller,
    approval::{Approval, Decision},
    effect::UnknownEffect,
    id::{SessionKey, TurnKey},
    session::{Session, SessionRole},
    turn::Turn,
};

use crate::{
    ports::{Reads, Unavailable},
    refusal::Refusal,
};

/// Returns the caller's role in a session.
async fn role_of(store: &impl Reads, caller: &Caller, session: &Session) -> Result<SessionRole, Unavailable> {
    if session.owner.id == caller.user.id {
        return Ok(SessionRole::Owner);
    }
    let is_participant = store.is_participant(&session.key, &caller.user.id).await?;
    Ok(if is_participant { SessionRole::Participant } else { SessionRole::None })
}

/// Returns a session with the caller's role in it, if the caller may see it. A session that doesn't exist takes the same
/// reads as one that is hidden, so that the time doesn't tell which one it is.
pub(crate) async fn visible(
    store: &impl Reads,
    caller: &Caller,
    key: &SessionKey,
    found: Option<Session>,
) -> Result<Option<(Session, SessionRole)>, Unavailable> {
    let is_owner = |session: &Session| session.owner.id == caller.user.id;
    let role = match &found {
        Some(session) if is_owner(session) && session.is_visible_to(caller, SessionRole::Owner) => {
            SessionRole::Owner
        }
        _ if store.is_participant(key, &caller.user.id).await? => SessionRole::Participant,
        _ => SessionRole::None,
    };
    Ok(found.filter(|session| session.is_visible_to(caller, role)).map(|session| (session, role)))
}

/// True if the caller may see a session. Reads the participant only when the answer depends on the role.
pub(crate) async fn can_see(
    store: &impl Reads,
    caller: &Caller,
    session: &Session,
) -> Result<bool, Unavailable> {
    sees(store, caller, &session.key, Some(session)).await
}

/// True if the session exists and the caller may see it. Performs the same reads for a session that doesn't exist and
/// one that is hidden, as [`visible`] does.
pub(crate) async fn sees(
    store: &impl Reads,
    caller: &Caller,
    key: &SessionKey,
    session: Option<&Session>,
) -> Result<bool, Unavailable> {
    let is_visible = |role| session.is_some_and(|session| session.is_visible_to(caller, role));
    let is_owner = session.is_some_and(|session| session.owner.id == caller.user.id);
    if is_visible(if is_owner { SessionRole::Owner } else { SessionRole::None }) {
        return Ok(true);
    }
    let is_participant = store.is_participant(key, &caller.user.id).await?;
    Ok(is_participant && is_visible(SessionRole::Participant))
}

/// Loads a turn that the caller may see, with its session.
///
/// # Errors
/// If this caller has no such turn.
pub(crate) async fn load_turn(
    store: &impl Reads,
    caller: &Caller,
    key: &TurnKey,
) -> Result<(Session, Turn), Refusal> {
    let (session, turn) = store.session_and_turn(key).await?;
    match sees(store, caller, &key.session, session.as_ref()).await? {
        true => session.zip(turn).ok_or(Refusal::TurnNotFound),
        false => Err(Refusal::TurnNotFound),
    }
}

/// Requires the caller to be an operator.
///
/// # Errors
/// If the caller isn't an operator.
pub fn require_operator(caller: &Caller) -> Result<(), Refusal> {
    if caller.operator { Ok(()) } else { Err(Refusal::operator_required()) }
}

/// Requires the caller to be an operator or an agent editor.
///
/// # Errors
/// If the caller is neither.
pub fn require_context_editor(caller: &Caller) -> Result<(), Refusal> {
    if caller.may_edit_contexts() { Ok(()) } else { Err(Refusal::context_editor_required()) }
}

/// Requires the caller to be someone who may write this document. Connections spend an org's secrets, and webhooks send its
/// data outside, so only operators write them.
///
/// # Errors
/// If the caller may not.
pub(crate) fn require_editor_of(caller: &Caller, id: &ContextId) -> Result<(), Refusal> {
    match id.kind() {
        ContextKind::Connection | ContextKind::Webhook => require_operator(caller),
        ContextKind::Agent | ContextKind::Conversation | ContextKind::Mode => require_context_editor(caller),
    }
}

/// Parses the id of a context for a caller who may edit contexts. An invalid id is that of no context.
///
/// # Errors
/// If the caller may not edit contexts, or the id is invalid.
pub fn context_id(caller: &Caller, kind: ContextKind, id: &str) -> Result<ContextId, Refusal> {
    require_context_editor(caller)?;
    kind.id(id).map_err(|_| Refusal::invalid_context_id(kind))
}

/// Logs who changed whose session (docs/reference/logs.md). The request's own log fields name the caller and the
/// session. The role is left out if it can't be read, because the change is done by then.
pub(crate) async fn audit_write(
    store: &impl Reads,
    action: &'static str,
    caller: &Caller,
    session: &Session,
) {
    audit(action, caller, role_of(store, caller, session).await.ok());
}

/// Logs a read by an operator or by a caller without a role. Reads by the session's own participants aren't logged.
pub(crate) fn audit_read(caller: &Caller, role: SessionRole) {
    if caller.operator || role == SessionRole::None {
        audit("read", caller, Some(role));
    }
}

/// Logs a search, because it may show text from sessions in which the caller has no role.
pub(crate) fn audit_search(caller: &Caller) {
    audit("search", caller, None);
}

/// Logs a change of the org's budgets.
pub(crate) fn audit_budgets(caller: &Caller) {
    audit("budgets", caller, None);
}

/// Logs a change of the org's settings, with the number of what is disabled in each list.
pub(crate) fn audit_org_settings(caller: &Caller, settings: &OrgSettings) {
    let disabled = &settings.disabled;
    tracing::info!(
        action = "org_settings",
        operator = caller.operator,
        org_disabled = disabled.org,
        users_disabled = disabled.users.len(),
        agents_disabled = disabled.agents.len(),
        models_disabled = disabled.models.len(),
        "{}",
        contracts::log::AUDIT
    );
}

/// Logs the export or import of a whole session, whoever the caller is.
pub(crate) fn audit_session(action: &'static str, caller: &Caller, session: &SessionId) {
    tracing::info!(
        action,
        operator = caller.operator,
        session = session.as_str(),
        "{}",
        contracts::log::AUDIT
    );
}

/// Logs a use of a connection by an operator: a new secret, or a call of a tool.
pub(crate) fn audit_connection(
    action: &'static str,
    caller: &Caller,
    connection: &ConnectionId,
    tool: Option<&str>,
) {
    tracing::info!(
        action,
        operator = caller.operator,
        connection = connection.as_str(),
        tool,
        "{}",
        contracts::log::AUDIT
    );
}

/// Logs the resolution of a call whose outcome was unknown.
pub(crate) fn audit_resolution(caller: &Caller, effect: &UnknownEffect, resolution: &EffectResolution) {
    tracing::info!(
        action = "effect_resolve",
        operator = caller.operator,
        connection = effect.call.connection.as_str(),
        tool = effect.call.tool.as_str(),
        effect_key = effect.call.key.as_str(),
        finding = resolution.outcome.name(),
        note = resolution.note.as_deref(),
        "{}",
        contracts::log::AUDIT
    );
}

/// Logs the answer of an approval. The arguments and the reason are in the table alone.
pub(crate) fn audit_approval(caller: &Caller, approval: &Approval) {
    let Some(answer) = &approval.answer else { return };
    let (action, is_edited) = match &answer.decision {
        Decision::Approved { arguments } => ("approval_approve", arguments.is_some()),
        Decision::Denied { .. } => ("approval_deny", false),
    };
    tracing::info!(
        action,
        operator = caller.operator,
        approval = approval.id.as_str(),
        session = approval.turn.session.session.as_str(),
        turn = approval.turn.turn.as_str(),
        connection = approval.call.connection.as_str(),
        tool = approval.call.tool.as_str(),
        call_hash = %approval.call.hash(),
        asked_by = approval.asker.as_str(),
        is_edited,
        "{}",
        contracts::log::AUDIT
    );
}

/// Logs a use of a webhook by an operator: a new secret, a test event, or a replay.
pub(crate) fn audit_webhook(action: &'static str, caller: &Caller, webhook: &WebhookId) {
    let (operator, webhook) = (caller.operator, webhook.as_str());
    tracing::info!(action, operator, webhook, "{}", contracts::log::AUDIT);
}

/// Logs a change of a context.
pub(crate) fn audit_context(action: &'static str, caller: &Caller, id: &ContextId, version: Option<u32>) {
    let (kind, context) = (id.kind().name(), id.as_str());
    tracing::info!(
        action,
        operator = caller.operator,
        agent_editor = caller.agent_editor,
        context_kind = kind,
        context,
        version,
        "{}",
        contracts::log::AUDIT
    );
}

fn audit(action: &'static str, caller: &Caller, role: Option<SessionRole>) {
    let participant = role.map(|role| role != SessionRole::None);
    tracing::info!(action, operator = caller.operator, participant, "{}", contracts::log::AUDIT);
}
