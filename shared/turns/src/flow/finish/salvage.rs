//! Salvages turns whose attempts died: settles them with the outcome of the attempt that got furthest (I4, rules 5
//! and 9).

use protocol::{
    budget::Amounts,
    change::PartialWork,
    spent::Spent,
    transition::{
        IllegalTransition, settle,
        take_over::{self, Purpose},
    },
    turn::{EndReason, State, Turn, Verdict},
};

use crate::{
    flow::{
        finish::{outcomes, partial},
        usage_hold,
        write::{self, WriteOutcome},
    },
    ports::{Deps, Host, Reads, Unavailable},
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
            Some((writer, outcome)) => {
                Box::pin(usage_hold::hold(deps, &taken, &outcome.report, Amounts::default())).await;
                outcomes::transition_of(deps, &taken, writer, &outcome)
            }
            None => {
                let (now, left) =
                    (host.now(), partial::find_work(deps.store(), deps.payloads(), &taken).await);
                // The attempt is dead, so nobody knows better.
                let left = PartialWork { spent: left.spent.map(Spent::into_told), ..left };
                Box::pin(usage_hold::hold_spent(deps, &taken, left.spent.as_ref())).await;
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
