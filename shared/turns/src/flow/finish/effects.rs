//! The ledger of effects of a turn whose attempt died or that was ended: the round to continue, and the calls whose outcome
//! is unknown (rule 14).

use std::collections::{BTreeMap, BTreeSet};

use agent::{
    attempt::RecoveryPoint,
    model::FunctionCall,
    tool::{
        self, ExecutedBy, Limits,
        remote::RemoteOutcome,
        rounds::{ToolCallRecord, called_connection},
    },
};
use contracts::{error::JsonError, json_bytes, read::RanBy, response::ToolOutcome};
use protocol::{
    effect::{Intent, UnknownEffect},
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
    if latest.as_ref().is_some_and(|latest| latest.step.state.rounds.finished() >= intent.round) {
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
/// follows. Operators resolve the calls of an imported turn where it ran.
pub(crate) async fn unresolved(deps: &impl Deps, turn: &Turn) -> Result<Vec<UnknownEffect>, Unavailable> {
    if turn.is_imported {
        return Ok(Vec::new());
    }
    let Some(intent) = last_intent(deps.store(), turn).await? else { return Ok(Vec::new()) };
    let results = results_of(deps.payloads(), turn, &intent).await?;
    let open = intent.calls.iter().filter(|call| !results.contains_key(&call.index));
    Ok(open.map(|call| intent.unknown(call, deps.host().now())).collect())
}

/// Returns the round whose calls a turn that was ended from outside may have sent, with the results that are stored. `None`
/// if the turn's last step contains it. Each call without a result is a warning for the user, and stays open, so that the
/// next turn is told of it.
pub(crate) async fn open_round(
    store: &impl Reads,
    payloads: &impl PayloadReads,
    turn: &Turn,
    rounds: u32,
) -> Result<Option<RecoveryPoint>, Unavailable> {
    let intent = last_intent(store, turn).await?.filter(|intent| intent.round > rounds);
    let Some(intent) = intent else { return Ok(None) };
    let mut step = round_of(payloads, &intent).await?;
    let mut results = results_of(payloads, turn, &intent).await?;
    for call in intent.calls.iter().filter(|call| !results.contains_key(&call.index)) {
        step.state.effects.warn(&unknown_warning(&call.tool));
    }
    let calls: Vec<FunctionCall> = step.state.rounds.calls().iter().map(ToolCallRecord::to_call).collect();
    let routes = tool::route_calls(&step.spec.tools.definitions, &calls, &Limits::default());
    let records = step.state.rounds.calls_mut().iter_mut().zip(routes);
    let of_server = records.filter(|(_, route)| *route == ExecutedBy::Server);
    for (index, (record, _)) in (0..).zip(of_server) {
        record.ran_by = Some(RanBy::Server);
        record.connection = called_connection(&step.spec.tools.remote, record);
        record.outcome = results.remove(&index).map(|result| match result.into_result() {
            Ok(success) => ToolOutcome::ResultJson(success.result.to_string()),
            Err(error) => ToolOutcome::ErrorMessage(error.to_string()),
        });
    }
    Ok(Some(step))
}

/// Returns the warning for the user about a call whose outcome is unknown.
pub(crate) fn unknown_warning(tool: &str) -> String {
    format!("The outcome of a call of {tool} is unknown. It was not repeated: check whether it took place.")
}

/// Logs calls whose outcome is unknown, once each is marked.
pub(crate) fn log_unknown(effects: &[UnknownEffect]) {
    for effect in effects {
        let (turn, tool) = (effect.turn.turn.as_str(), effect.call.tool.as_str());
        tracing::warn!(turn, tool, "{}", contracts::log::EFFECT_UNKNOWN);
    }
}

async fn last_intent(store: &impl Reads, turn: &Turn) -> Result<Option<Intent>, Unavailable> {
    if !turn.may_have_open_calls() {
        return Ok(None);
    }
    store.newest_intent(&turn.key).await
}

/// Returns the stored results of an intent's calls, by the places of the calls.
async fn results_of(
    payloads: &impl PayloadReads,
    turn: &Turn,
    intent: &Intent,
) -> Result<BTreeMap<u32, RemoteOutcome>, Unavailable> {
    let of_step = turn.last_step.as_ref().map(|step| &step.attempt);
    let writers: BTreeSet<&AttemptId> =
        [Some(&intent.attempt), Some(&turn.attempt), of_step].into_iter().flatten().collect();
    let mut results = BTreeMap::new();
    for call in &intent.calls {
        let found = find_result(payloads, intent, call.index, writers.iter().copied()).await?;
        results.extend(found.map(|result| (call.index, result)));
    }
    Ok(results)
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
