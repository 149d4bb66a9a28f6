//! Turns whose attempts died: taken over, or ended with the answer of the attempt that got furthest (I4,
//! rules 5 and 9).

use agent::progress::Step;
use contracts::{ToolContinuation, response::ToolResult};
use futures::future::try_join_all;
use protocol::{
    id::AttemptId,
    payload::{Kind, Payload},
    transition::{
        Illegal, settle,
        take::{self, Purpose},
    },
    turn::{Reason, Stage, State, Turn, Verdict},
};

use super::{
    executor::{Executor, Term},
    outcomes,
    owned_turn::{Lease, OwnedTurn},
    settle::decision,
    write::{self, Written},
};
use crate::{
    ports::{AgentDeps, Clock, Deps, PayloadReads, Random, Reads, Timer, Unavailable},
    refusal::Refusal,
};

/// How many recorded steps are looked for at once.
const STEPS_AT_ONCE: u32 = 8;

/// Fences the turn, then settles it from an outcome object if there is one, else as abandoned.
/// Returns the head that stands afterwards, whoever wrote it.
pub(super) async fn salvage(deps: &impl Deps, dead: &Turn) -> Result<Option<Turn>, Unavailable> {
    let (host, timing) = (deps.host(), deps.timing());
    let Ok(fence) = take::take(dead, host.attempt_id(), Purpose::Salvage, host.now(), timing) else {
        return deps.store().turn(&dead.key).await;
    };
    if let Written::Stands(other) = write::turn(deps, &fence).await? {
        return Ok(other.map(|other| *other));
    }
    let taken = fence.after;
    let change = match &taken.state {
        State::Running { stage, .. } => match outcomes::find(deps.payloads(), &taken.key, stage).await? {
            Some((writer, outcome)) => {
                outcomes::store_answer(deps.payloads(), &taken.key, &writer, &outcome).await?;
                decision(deps, &taken, writer, &outcome)
            }
            None => {
                let now = host.now();
                settle::settle(&taken, Verdict::Ended(Reason::Abandoned), now, now, timing)
            }
        },
        State::AwaitingTools { .. } | State::Settled(_) | State::Finalized(_) => {
            Err(Illegal { from: taken.state.phase() })
        }
    };
    let Ok(change) = change else {
        return Ok(Some(taken));
    };
    Ok(match write::turn(deps, &change).await? {
        Written::Applied => Some(change.after),
        Written::Stands(other) => other.map(|other| *other),
    })
}

impl<D: AgentDeps> Executor<D> {
    /// Takes over a turn whose attempt died: settles it from an earlier outcome, or goes on with it, from
    /// the step that was recorded where there is one. None when there is nothing to work on: looking again
    /// tells why.
    pub(super) async fn take_over(
        &self,
        dead: &Turn,
        term: &Term,
    ) -> Result<Option<(OwnedTurn, Option<Step>)>, Refusal> {
        let (host, timing) = (self.deps.host(), self.deps.timing());
        let requested = host.monotonic();
        let fence = match take::take(dead, host.attempt_id(), Purpose::Retry, host.now(), timing) {
            Ok(fence) => fence,
            Err(take::Refused::NoAttemptLeft) => {
                if let Some(turn) = salvage(&self.deps, dead).await? {
                    self.announce(&turn, term.correlation.as_ref()).await;
                }
                return Ok(None);
            }
            Err(take::Refused::Alive { .. } | take::Refused::Illegal(_)) => return Ok(None),
        };
        if let Written::Stands(_) = write::turn(&self.deps, &fence).await? {
            return Ok(None);
        }
        let lease = Lease::held_since(requested, timing);
        let owned = OwnedTurn { turn: fence.after, lease, term: term.clone() };
        let State::Running { stage, .. } = &owned.turn.state else {
            return Ok(None);
        };
        let Some((writer, found)) = outcomes::find(self.deps.payloads(), &owned.turn.key, stage).await?
        else {
            let step = recorded(&self.deps, &owned.turn).await?;
            return Ok(Some((owned, step)));
        };
        // I4, I9: an answer that was durable is used, not bought again.
        outcomes::store_answer(self.deps.payloads(), &owned.turn.key, &writer, &found).await?;
        if let Ok(change) = decision(&self.deps, &owned.turn, writer, &found) {
            write::turn(&self.deps, &change).await?;
            self.announce(&owned.turn, term.correlation.as_ref()).await;
        }
        Ok(None)
    }
}

/// How far earlier attempts came; none where the work begins with the user's request.
///
/// Only sound for the turn's owner: a slow attempt may still write until it is fenced.
async fn recorded(deps: &impl Deps, turn: &Turn) -> Result<Option<Step>, Unavailable> {
    let begun = match &turn.accepted {
        Some(accepted) => {
            let suspended = outcomes::written_by(deps.payloads(), &turn.key, &accepted.suspended_by).await?;
            let results = tool_results(deps, turn, &accepted.resumed_by).await?;
            suspended
                .into_step()
                .map(|step| Step { progress: step.progress.answered(&results, accepted.results), ..step })
        }
        None => None,
    };
    let rounds = begun.as_ref().map_or(0, |step| step.progress.rounds);
    let State::Running { stage, .. } = &turn.state else {
        return Ok(begun);
    };
    Ok(last_step(deps, turn, stage, rounds).await?.or(begun))
}

/// The furthest recorded step of the newest attempt that recorded any.
async fn last_step(
    deps: &impl Deps,
    turn: &Turn,
    stage: &Stage,
    rounds: u32,
) -> Result<Option<Step>, Unavailable> {
    for writer in stage.attempts.iter().rev() {
        let mut last = None;
        let mut from = rounds + 1;
        loop {
            let steps = (from..from + STEPS_AT_ONCE).map(|round| step(deps, turn, writer, round));
            let found = try_join_all(steps).await?.into_iter().flatten().last();
            if found.is_none() {
                break;
            }
            last = found;
            from += STEPS_AT_ONCE;
        }
        if last.is_some() {
            return Ok(last);
        }
    }
    Ok(None)
}

async fn step(
    deps: &impl Deps,
    turn: &Turn,
    writer: &AttemptId,
    round: u32,
) -> Result<Option<Step>, Unavailable> {
    let payload = Payload { turn: turn.key.clone(), kind: Kind::Step(writer.clone(), round) };
    let stored = deps.payloads().get(&payload).await?;
    // A step that can't be read is done without: its tools run again.
    Ok(stored.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

async fn tool_results(
    deps: &impl Deps,
    turn: &Turn,
    resumed_by: &AttemptId,
) -> Result<Vec<ToolResult>, Unavailable> {
    let payload = Payload { turn: turn.key.clone(), kind: Kind::ToolResults(resumed_by.clone()) };
    let missing = |source| Unavailable { what: "the tool results", source };
    let stored = deps.payloads().get(&payload).await?.ok_or_else(|| missing("they are not there".into()))?;
    let results =
        ToolContinuation::from_canonical(&stored).map_err(|_| missing("they can't be read".into()))?;
    Ok(results.tool_results.into_vec())
}
