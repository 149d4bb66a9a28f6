//! Salvage: end a turn whose attempts died, with the answer of the one that got furthest (I4).

use std::time::Duration;

use crate::{
    flow::{
        outcome,
        write::{self, Written},
    },
    ports::{Payloads, Store, Unavailable, World},
};
use agent::outcome::Outcome;
use protocol::{
    change::TurnChange,
    id::Owner,
    timing::Timing,
    transition::{Illegal, settle, suspend, take},
    turn::{Reason, State, Turn, Verdict},
};

/// Fences the turn, then settles it from an outcome object if there is one, else as abandoned.
/// Returns the head that stands afterwards, whoever wrote it.
pub(crate) async fn salvage(
    store: &impl Store,
    payloads: &impl Payloads,
    world: &impl World,
    timing: &Timing,
    dead: &Turn,
) -> Result<Option<Turn>, Unavailable> {
    let Ok(fence) = take::take(dead, world.nonce(), take::Purpose::Salvage, world.now(), timing) else {
        return store.turn(&dead.key).await;
    };
    if let Written::Stands(other) = write::turn(store, world, &fence).await? {
        return Ok(other.map(|other| *other));
    }
    let taken = fence.after;
    let change = match &taken.state {
        State::Running { stage, .. } => match outcome::find(payloads, &taken.key, stage).await? {
            Some((writer, outcome)) => from_outcome(&taken, writer, &outcome, world, timing),
            None => {
                settle::settle(&taken, Verdict::Ended(Reason::Abandoned), world.now(), world.now(), timing)
            }
        },
        State::AwaitingTools { .. } | State::Settled(_) | State::Finalized(_) => {
            Err(Illegal { from: taken.state.phase() })
        }
    };
    let Ok(change) = change else {
        return Ok(Some(taken));
    };
    Ok(match write::turn(store, world, &change).await? {
        Written::Applied => Some(change.after),
        Written::Stands(other) => other.map(|other| *other),
    })
}

/// The transition that an outcome object calls for: settle, or suspend.
pub(crate) fn from_outcome(
    turn: &Turn,
    writer: Owner,
    outcome: &Outcome,
    world: &impl World,
    timing: &Timing,
) -> Result<TurnChange, Illegal> {
    let now = world.now();
    match outcome.verdict(writer.clone()) {
        Some(verdict) => settle::settle(turn, verdict, outcome.report.received.unwrap_or(now), now, timing),
        None => {
            let seconds = outcome.step.as_ref().map_or(0, |step| step.plan.tool_deadline_seconds);
            let wait = Duration::from_secs(seconds).min(timing.longest_tool_wait);
            suspend::suspend(turn, writer, now.after(wait))
        }
    }
}
