//! Forks a session: creates a new one that continues from a completed turn.

use contracts::{id::SessionId, invoke_result::Warning, request};
use futures::future::{join, try_join, try_join4};
use protocol::{
    Caller,
    id::{SessionKey, TurnKey},
    session::{IdOrigin, Session},
    transition::fork::{self, ForkRequest},
    turn::State,
};

use crate::{
    flow::{
        access,
        admin::notices::{self, SessionPolicy},
        ancestry,
        finish::evidence::TurnEvidence,
        limits::OrgLimits,
    },
    ports::{Host, QueueDeps, Reads, Store, Unavailable},
    refusal::Refusal,
};

const HAD_EFFECTS: &str = "The turn that this session continues from called tools with effects. Their calls can be made \
     again here, also those whose outcome is unknown.";

/// Creates a session that continues from a turn of another one. The same request again is a no-op. `id_origin` is that of the new session's id.
///
/// # Errors
/// If there is no such turn, it has no answer to continue from, the new session's id is taken by another session, its
/// ancestry would be too deep, or the org, the user or the agent is disabled.
pub async fn fork_session(
    deps: &impl QueueDeps,
    policy: SessionPolicy,
    caller: &Caller,
    session: SessionId,
    request: &request::ForkRequest,
    id_origin: IdOrigin,
) -> Result<(), Refusal> {
    let store = deps.store();
    let source = SessionKey { org: caller.org.clone(), session };
    let key = SessionKey { org: caller.org.clone(), session: request.session_id.clone() };
    let turn = source.turn(request.turn_id.clone());
    let (original, source_turn, existing, limits) = try_join4(
        store.session(&source),
        store.turn(&turn),
        store.session(&key),
        OrgLimits::load(store, &caller.org),
    )
    .await?;
    // A hidden session takes the time of an unknown one, as the source and as the fork.
    let (sees_source, sees_fork) = try_join(
        access::sees(store, caller, &source, original.as_ref()),
        access::sees(store, caller, &key, existing.as_ref()),
    )
    .await?;
    let original = original.filter(|_| sees_source).ok_or(Refusal::SessionNotFound)?;
    if !id_origin.admits(existing.as_ref(), &caller.user.id) {
        return Err(Refusal::SessionIdConflict);
    }
    if existing.is_some() && !sees_fork {
        return Err(Refusal::SessionNotFound);
    }
    let source_turn = source_turn.ok_or(Refusal::TurnNotFound)?;
    if let Some(existing) = existing {
        return ensure_same_fork(&existing, &turn, caller);
    }
    let subjects = limits.subjects(store, &source, &caller.user.id, &original.contexts).await?;
    limits.check_disabled(&subjects)?;
    original.ensure_open()?;
    if !matches!(source_turn.state, State::Settled(_) | State::Finalized(_)) {
        return Err(Refusal::turn_not_completed());
    }
    // Boxed: few sources are forks themselves.
    if Box::pin(ancestry::is_too_deep_to_fork(store, &original)).await? {
        return Err(Refusal::fork_too_deep());
    }
    let evidence = TurnEvidence::load(store, deps.payloads(), &source_turn).await?;
    let summary = evidence.summary().unwrap_or_default();
    let mode = summary.modes.last().map_or(&source_turn.mode, |staged| &staged.mode).clone();
    let visibility = limits.settings.session_visibility.unwrap_or(policy.default_visibility);
    let fork_request = ForkRequest {
        key: key.clone(),
        by: caller.user.clone(),
        name: request.name.clone(),
        visibility: visibility.of_fork(original.visibility),
    };
    let commit = fork::fork(&original, &source_turn, &summary.report, mode, fork_request, deps.host().now())
        .map_err(|_| Refusal::turn_not_completed())?;
    let notice = notices::send_index_notice(deps, policy, &key);
    let (written, ()) = join(store.commit(&commit), notice).await;
    let Err(error) = written else { return Ok(()) };
    // I11: the stored session tells if this write, another one, or none was applied.
    match store.session(&key).await? {
        Some(existing) => ensure_same_fork(&existing, &turn, caller),
        None => Err(Unavailable { what: "the table", source: error.into() }.into()),
    }
}

/// Returns a warning if the turn that a session was forked from called tools that have effects: the fork can make these
/// calls again, since the marks of unknown outcomes stay in the first session.
///
/// # Errors
/// If the table can't be reached.
pub async fn fork_warning(
    store: &impl Reads,
    caller: &Caller,
    session: SessionId,
    request: &request::ForkRequest,
) -> Result<Option<Warning>, Refusal> {
    let turn = SessionKey { org: caller.org.clone(), session }.turn(request.turn_id.clone());
    let intent = store.newest_intent(&turn).await?;
    Ok(intent.map(|_| Warning { message: HAD_EFFECTS.to_owned(), error_code: None }))
}

fn ensure_same_fork(existing: &Session, source: &TurnKey, caller: &Caller) -> Result<(), Refusal> {
    let origin = existing.forked_from.as_ref();
    let same = origin
        .is_some_and(|origin| (&origin.session, &origin.turn) == (&source.session.session, &source.turn));
    (same && existing.owner.id == caller.user.id).then_some(()).ok_or(Refusal::SessionIdConflict)
}
