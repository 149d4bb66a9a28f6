//! Calls of tools whose outcome is unknown: operators list them, and resolve each once they have looked at its target.

use contracts::{
    Error, ErrorCode,
    id::{SessionId, TurnId},
    read::{ListResponse, UnknownEffect as UnknownEffectView},
    request::EffectResolution,
};
use protocol::{Caller, effect::UnknownEffect, id::SessionKey};

use crate::{
    flow::{
        access,
        write::{self, Tried},
    },
    ports::{Deps, Reads, Store, WriteError},
    refusal::Refusal,
};

/// Lists the calls of the caller's org whose outcome is unknown, oldest first.
///
/// # Errors
/// If the caller isn't an operator.
pub async fn list_unknown_effects(
    store: &impl Reads,
    caller: &Caller,
    page_size: u32,
    token: Option<String>,
) -> Result<ListResponse<UnknownEffectView>, Refusal> {
    access::require_operator(caller)?;
    let limit = usize::try_from(page_size).unwrap_or(usize::MAX);
    let page = store.unknown_effects_of_org(&caller.org, limit, token).await?;
    Ok(ListResponse::new(page.items.into_iter().map(view).collect(), page_size, page.next))
}

/// Removes the mark of a call whose outcome is unknown, so that its session may make an equal call.
///
/// # Errors
/// If the caller isn't an operator, or the turn has no such call.
pub async fn resolve_effect(
    deps: &impl Deps,
    caller: &Caller,
    session: SessionId,
    turn: TurnId,
    resolution: &EffectResolution,
) -> Result<UnknownEffectView, Refusal> {
    access::require_operator(caller)?;
    let key = SessionKey { org: caller.org.clone(), session }.turn(turn);
    access::load_turn(deps.store(), caller, &key).await?;
    let not_found = || Refusal::from(Error::from(ErrorCode::EffectNotFound).with_details("EffectId"));
    let hash = resolution.effect_id.parse().map_err(|_| not_found())?;
    let found = deps.store().unknown_effects(&key.session, &[hash].into()).await?;
    let effect = found.into_iter().find(|effect| effect.turn == key).ok_or_else(not_found)?;
    write::decide(deps.host(), || async {
        Ok::<_, Refusal>(match deps.store().remove_unknown_effect(&effect).await {
            // Another operator was faster, or an earlier try whose reply was lost.
            Err(WriteError::ConditionFailed) => Tried::Done(()),
            written => written.into(),
        })
    })
    .await?;
    access::audit_resolution(caller, &effect, resolution);
    Ok(view(effect))
}

fn view(effect: UnknownEffect) -> UnknownEffectView {
    let UnknownEffect { turn, round, call, at } = effect;
    UnknownEffectView {
        effect_id: call.hash.to_string(),
        session_id: turn.session.session,
        turn_id: turn.turn,
        round,
        connection_id: call.connection,
        connection_version: call.revision,
        tool: call.tool,
        key: call.key,
        creation_date: at.to_string(),
    }
}
