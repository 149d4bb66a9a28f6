//! Recovers turns whose attempts died: takes them over, or settles them with the outcome of the attempt that got
//! furthest (I4, rules 5 and 9).

use agent::attempt::RecoveryPoint;
use protocol::{
    transition::{
        IllegalTransition, settle,
        take_over::{self, Purpose},
    },
    turn::{EndReason, State, Turn, Verdict},
};

use crate::flow::{
    executor::Executor,
    finish::{
        announcement,
        evidence::{self, LatestStep},
        outcomes,
        settle::transition_for,
    },
    invocation::RequestScope,
    owned_turn::{Lease, OwnedTurn},
    write::{self, WriteOutcome},
};
use crate::{
    ports::{AgentDeps, Clock, Deps, Random, Reads, Timer, Unavailable},
    refusal::Refusal,
};

/// Fences the turn, then settles it from an outcome object if there is one, and as abandoned otherwise. Returns the
/// resulting head, whoever wrote it.
pub(crate) async fn salvage(deps: &impl Deps, dead: &Turn) -> Result<Option<Turn>, Unavailable> {
    let (host, timing) = (deps.host(), deps.timing());
    let Ok(fence) = take_over::take_over(dead, host.attempt_id(), Purpose::Salvage, host.now(), timing)
    else {
        return deps.store().turn(&dead.key).await;
    };
    if let WriteOutcome::Superseded(other) = write::turn(deps, &fence).await? {
        return Ok(other.map(|other| *other));
    }
    let taken = fence.after;
    let change = match &taken.state {
        State::Running { stage, .. } => match outcomes::find(deps.payloads(), &taken.key, stage).await? {
            Some((writer, outcome)) => transition_for(deps, &taken, writer, &outcome),
            None => {
                let (now, left) =
                    (host.now(), evidence::partial_work(deps.store(), deps.payloads(), &taken).await);
                settle::settle(&taken, Verdict::Ended(EndReason::Abandoned), now, now, timing)
                    .map(|change| change.with_partial_work(left))
            }
        },
        State::AwaitingTools { .. } | State::Settled(_) | State::Finalized(_) => {
            Err(IllegalTransition { from: taken.state.phase() })
        }
    };
    let Ok(change) = change else {
        return Ok(Some(taken));
    };
    Ok(match write::turn(deps, &change).await? {
        WriteOutcome::Applied => Some(change.after),
        WriteOutcome::Superseded(other) => other.map(|other| *other),
    })
}

impl<D: AgentDeps> Executor<D> {
    /// Takes over a turn whose attempt died. Settles it from an earlier outcome, or returns it with the latest
    /// recorded step, if any, for this process to continue. None if there is nothing to work on; reading the turn
    /// again shows why.
    pub(crate) async fn take_over(
        &self,
        dead: &Turn,
        scope: &RequestScope,
    ) -> Result<Option<(OwnedTurn, Option<RecoveryPoint>)>, Refusal> {
        let (host, timing) = (self.deps.host(), self.deps.timing());
        let requested = host.monotonic();
        let fence = match take_over::take_over(dead, host.attempt_id(), Purpose::Retry, host.now(), timing) {
            Ok(fence) => fence,
            Err(take_over::TakeOverError::NoAttemptLeft) => {
                if let Some(turn) = salvage(&self.deps, dead).await? {
                    announcement::announce(&self.deps, &turn, scope.correlation.as_ref()).await;
                }
                return Ok(None);
            }
            Err(
                take_over::TakeOverError::LeaseActive { .. } | take_over::TakeOverError::IllegalTransition(_),
            ) => return Ok(None),
        };
        if let WriteOutcome::Superseded(_) = write::turn(&self.deps, &fence).await? {
            return Ok(None);
        }
        let lease = Lease::starting_at(requested, timing);
        let owned = OwnedTurn::new(fence.after, lease, scope);
        let State::Running { stage, .. } = &owned.turn.state else {
            return Ok(None);
        };
        let Some((writer, outcome)) = outcomes::find(self.deps.payloads(), &owned.turn.key, stage).await?
        else {
            let outcome = evidence::latest_step(self.deps.payloads(), &owned.turn).await?;
            let step = outcome.map(|LatestStep { recorded, step }| {
                owned.set_recorded(recorded);
                step
            });
            return Ok(Some((owned, step)));
        };
        // I4, I9: a durable answer is used, not paid for again.
        if let Ok(change) = transition_for(&self.deps, &owned.turn, writer, &outcome) {
            write::turn(&self.deps, &change).await?;
            announcement::announce(&self.deps, &owned.turn, scope.correlation.as_ref()).await;
        }
        Ok(None)
    }
}
