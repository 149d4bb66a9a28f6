//! The ledger of effects of a turn whose attempt died or that was ended: the round to continue, and the calls whose outcome
//! is unknown (rule 14).

use std::collections::{BTreeMap, BTreeSet};

use agent::{attempt::RecoveryPoint, tool::remote::RemoteOutcome};
use contracts::{error::JsonError, json_bytes};
use protocol::{
    effect::{self, Intent, UnknownEffect},
    id::AttemptId,
    payload::{Kind, Payload},
    turn::{State, Turn},
};

use crate::{
    flow::{
        finish::steps::{self, LatestStep},
        owned_turn::OpenRound,
    },
    ports::{Deps, Host, MissingObject, PayloadReads, Reads, Unavailable},
};

/// Finds the point from which a turn that was taken over continues: its latest step, or the round whose calls with effects
/// its attempt may have sent. Only valid after the fence: until then, a slow attempt may still write an intent.
pub(crate) async fn continue_from(
    deps: &impl Deps,
    turn: &Turn,
) -> Result<(Option<LatestStep>, Option<OpenRound>), Unavailable> {
    let (store, payloads) = (deps.store(), deps.payloads());
    let State::Running { stage, .. } = &turn.state else { return Ok((None, None)) };
    let intent = store.newest_intent(&turn.key).await?;
    let of_stage = intent.and_then(|intent| {
        let position = stage.attempts.iter().position(|attempt| *attempt == intent.attempt)?;
        Some((stage.attempts.get(position..)?, intent))
    });
    let Some((attempts, intent)) = of_stage else {
        return Ok((steps::latest(payloads, turn).await?, None));
    };
    // A step of an earlier attempt may have been written since the fence, and doesn't know of the intent.
    let latest = steps::latest_of(payloads, turn, attempts).await?;
    if latest.as_ref().is_some_and(|latest| latest.step.state.rounds.count >= intent.round) {
        return Ok((latest, None));
    }
    let step = round_of(payloads, &intent).await?;
    let mut results = BTreeMap::new();
    for call in &intent.calls {
        // The newest attempt's result is the one that the model was told.
        let found = find_result(payloads, &intent, call.index, stage.attempts.iter().rev()).await?;
        results.extend(found.map(|result| (call.index, result)));
    }
    Ok((Some(LatestStep { recorded: None, step }), Some(OpenRound { intent, results })))
}

/// Returns the calls of a turn that was ended from outside whose outcome is unknown. The head is settled, so no intent
/// follows.
pub(crate) async fn unresolved(deps: &impl Deps, turn: &Turn) -> Result<Vec<UnknownEffect>, Unavailable> {
    if !effect::may_be_unresolved(turn) {
        return Ok(Vec::new());
    }
    let Some(intent) = deps.store().newest_intent(&turn.key).await? else { return Ok(Vec::new()) };
    let of_step = turn.last_step.as_ref().map(|step| &step.attempt);
    let writers: BTreeSet<&AttemptId> =
        [Some(&intent.attempt), Some(&turn.attempt), of_step].into_iter().flatten().collect();
    let mut unknown = Vec::new();
    for call in &intent.calls {
        let result = find_result(deps.payloads(), &intent, call.index, writers.iter().copied()).await?;
        if result.is_none() {
            unknown.push(intent.unknown(call, deps.host().now()));
        }
    }
    Ok(unknown)
}

/// Loads a round as it was before its calls. It exists, because it was stored before the intent.
async fn round_of(payloads: &impl PayloadReads, intent: &Intent) -> Result<RecoveryPoint, Unavailable> {
    let kind = Kind::Round(intent.attempt.clone(), intent.round);
    let stored = payloads.get(&Payload { turn: intent.turn.clone(), kind }).await?;
    let stored = stored.ok_or_else(|| Unavailable { what: "the round", source: MissingObject.into() })?;
    // Without it nobody knows what was sent, so the turn doesn't continue.
    json_bytes::from_slice(&stored)
        .map_err(|error| Unavailable::unreadable("the round", JsonError::from(&error)))
}

async fn find_result<'a>(
    payloads: &impl PayloadReads,
    intent: &Intent,
    index: u32,
    writers: impl Iterator<Item = &'a AttemptId>,
) -> Result<Option<RemoteOutcome>, Unavailable> {
    for writer in writers {
        let kind = Kind::EffectResult(writer.clone(), intent.round, index);
        if let Some(stored) = payloads.get(&Payload { turn: intent.turn.clone(), kind }).await? {
            let result = RemoteOutcome::from_json(&stored);
            return result
                .map(Some)
                .map_err(|error| Unavailable::unreadable("the result of a call", JsonError::from(&error)));
        }
    }
    Ok(None)
}
