//! Turns whose attempts died: taken over, or ended with the answer of the attempt that got furthest (I4,
//! rules 5 and 9).

use agent::progress::Step;
use protocol::{
    transition::{
        Illegal, settle,
        take::{self, Purpose},
    },
    turn::{Reason, State, Turn, Verdict},
};

use super::{
    executor::{Executor, Term},
    outcomes,
    owned_turn::{Lease, OwnedTurn},
    settle::decision,
    steps::{self, Found},
    write::{self, Written},
};
use crate::{
    ports::{AgentDeps, Clock, Deps, Random, Reads, Timer, Unavailable},
    refusal::Refusal,
};

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
            Some((writer, outcome)) => decision(deps, &taken, writer, &outcome),
            None => {
                let (now, left) = (host.now(), steps::left(deps.store(), deps.payloads(), &taken).await);
                settle::settle(&taken, Verdict::Ended(Reason::Abandoned), now, now, timing)
                    .map(|change| change.knowing(left))
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
        let owned = OwnedTurn::new(fence.after, lease, term);
        let State::Running { stage, .. } = &owned.turn.state else {
            return Ok(None);
        };
        let Some((writer, found)) = outcomes::find(self.deps.payloads(), &owned.turn.key, stage).await?
        else {
            let found = steps::last(self.deps.payloads(), &owned.turn).await?;
            let step = found.map(|Found { recorded, step }| {
                owned.has_recorded(recorded);
                step
            });
            return Ok(Some((owned, step)));
        };
        // I4, I9: an answer that was durable is used, not bought again.
        if let Ok(change) = decision(&self.deps, &owned.turn, writer, &found) {
            write::turn(&self.deps, &change).await?;
            self.announce(&owned.turn, term.correlation.as_ref()).await;
        }
        Ok(None)
    }
}
