//! Takes over a turn whose attempt died (I4, rules 5 and 9).

use agent::{attempt::RecoveryPoint, mode::Catalog};
use futures::future::join;
use protocol::{
    budget::Amounts,
    transition::take_over::{self, Purpose},
    turn::{State, Turn},
};

use crate::flow::{
    finish::{
        announcement::announce,
        outcomes, partial_answer, partial_work, salvage,
        steps::{self, LatestStep},
        transition,
    },
    invocation::RequestScope,
    meter,
    owned_turn::{Lease, OwnedTurn},
    usage_hold,
    write::{self, WriteOutcome},
};
use crate::{
    ports::{Clock, QueueDeps, Random, Timer},
    refusal::Refusal,
};

/// Takes over a turn whose attempt died. Settles it from an earlier outcome, or returns it with the latest
/// recorded step, if any, for this process to continue. None if there is nothing to work on; reading the turn
/// again shows why.
pub(crate) async fn take_over(
    deps: &impl QueueDeps,
    dead: &Turn,
    scope: &RequestScope,
    catalog: &Catalog,
) -> Result<Option<(OwnedTurn, Option<RecoveryPoint>)>, Refusal> {
    let (host, timing) = (deps.host(), deps.timing());
    let requested = host.monotonic();
    let fence = match take_over::take_over(dead, host.attempt_id(), Purpose::Retry, host.now(), timing) {
        Ok(fence) => fence,
        Err(take_over::TakeOverError::NoAttemptLeft) => {
            if let Some(turn) = salvage::salvage(deps, dead).await? {
                announce(deps, &turn, scope.correlation.as_ref()).await;
            }
            return Ok(None);
        }
        Err(
            take_over::TakeOverError::LeaseActive { .. } | take_over::TakeOverError::IllegalTransition(_),
        ) => return Ok(None),
    };
    // Boxed: few orgs limit concurrent turns. A start that was refused meanwhile has removed the dead turn.
    let rejoined = Box::pin(meter::rejoin(deps, dead));
    let (written, ()) = join(write::turn(deps, &fence), rejoined).await;
    if let WriteOutcome::Superseded(_) = written? {
        return Ok(None);
    }
    let lease = Lease::starting_at(requested, timing);
    let mut owned = OwnedTurn::new(fence.after, lease, scope, catalog);
    let State::Running { stage, .. } = &owned.turn.state else {
        return Ok(None);
    };
    let Some((writer, outcome)) = outcomes::find(deps.payloads(), &owned.turn.key, stage).await? else {
        let latest = steps::latest(deps.payloads(), &owned.turn);
        let (latest, checkpoint) =
            join(latest, partial_answer::last_checkpoint(deps.store(), &owned.turn)).await;
        let latest = latest?;
        owned.lost = partial_work::spent_so_far(dead, latest.as_ref(), checkpoint.as_ref());
        let step = latest.map(|LatestStep { recorded, step }| {
            owned.set_recorded(recorded);
            step
        });
        return Ok(Some((owned, step)));
    };
    Box::pin(usage_hold::hold(deps, &owned.turn, &outcome.report, Amounts::default())).await;
    // I4, I9: a durable answer is used, not paid for again.
    if let Ok(change) = transition::of_outcome(deps, &owned.turn, writer, &outcome) {
        write::turn(deps, &change).await?;
        meter::leave(deps, &owned.turn).await;
        announce(deps, &owned.turn, scope.correlation.as_ref()).await;
    }
    Ok(None)
}
