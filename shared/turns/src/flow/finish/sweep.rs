//! Sweeps overdue turns: finds, ends and finalizes turns whose attempt died or whose announcement was lost (I12).
//! A turn whose attempt died is salvaged: settled with the outcome of the attempt that got furthest (I4, rules 5 and 9).

use std::{collections::BTreeSet, pin::pin, time::Duration};

use contracts::error::causes;
use futures::future::{Either, select};
use protocol::{
    budget::Amounts,
    change::PartialWork,
    id::{SessionKey, TurnKey},
    queue_message::TurnMessage,
    spent::Spent,
    transition::{
        IllegalTransition, settle, sweep,
        take_over::{self, Purpose},
    },
    turn::{EndReason, State, Turn, Verdict},
    webhook::LaneKey,
};

use crate::{
    flow::{
        due,
        finish::{
            approvals,
            finalize::{Finalized, finalize_turn},
            outcomes, partial,
        },
        meter,
        write::{self, WriteOutcome},
    },
    ports::{Deps, Host, ProviderResponses, Reads, Store, Timer, TurnQueue, Unavailable},
};

/// The summary of a sweep.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SweepSummary {
    /// Turns that the index listed as due.
    pub examined: usize,
    /// Settled turns that were finalized.
    pub finalized: usize,
    /// Turns that were salvaged because their attempt died.
    pub salvaged: usize,
    /// Turns that were ended because their tool results never came.
    pub ended: usize,
    /// Turns for which a message was sent, because nobody continued them.
    pub continued: usize,
    /// Turns that are alive, and whose due time was moved.
    pub alive: usize,
    /// Turns that failed; the next sweep retries them.
    pub failed: usize,
    /// Set if the time ran out first.
    pub timed_out: bool,
    /// The sessions of the finalized turns.
    pub sessions: BTreeSet<SessionKey>,
    /// The lanes of webhooks that got events of these turns.
    pub lanes: BTreeSet<LaneKey>,
}

/// The longest time for one turn. One that takes longer delays the others of its shard no further.
const MAX_TURN_TIME: Duration = Duration::from_secs(20);

/// The result of the work on a due turn.
pub(crate) enum Swept {
    /// Nothing was due.
    Skipped,
    /// The turn is alive.
    Alive,
    /// The turn queue can continue it.
    Continuable,
    /// It was processed, for this reason.
    Processed {
        /// The count of the reason.
        reason: fn(&mut SweepSummary) -> &mut usize,
        /// The effect of its finalization.
        finalized: Finalized,
    },
}

/// Looks for overdue turns in every shard of the index, for at most `budget`. Turns that no client waits for are announced on
/// the turn queue.
///
/// # Errors
/// If the index can't be read. A failure of a single turn is counted and not returned.
pub async fn sweep_turns(
    deps: &impl Deps,
    upstream: &impl ProviderResponses,
    queue: &impl TurnQueue,
    budget: Duration,
) -> Result<SweepSummary, Unavailable> {
    let store = deps.store();
    let page = |shard, now, after| store.due(shard, now, after);
    let work = |key: TurnKey, left: Duration| async move {
        let swept = sweep_within(deps, upstream, queue, &key, left.min(MAX_TURN_TIME)).await;
        (key, swept)
    };
    let walk = due::walk(deps, budget, page, work).await?;
    let mut summary =
        SweepSummary { examined: walk.done.len(), timed_out: walk.timed_out, ..SweepSummary::default() };
    for (key, swept) in walk.done {
        match swept {
            Ok(Swept::Skipped) => {}
            Ok(Swept::Alive) => summary.alive += 1,
            Ok(Swept::Continuable) => summary.continued += 1,
            Ok(Swept::Processed { reason, finalized }) => {
                *reason(&mut summary) += 1;
                if finalized.is_done() {
                    summary.sessions.insert(key.session);
                }
                if let Finalized::Yes(lanes) = finalized {
                    summary.lanes.extend(lanes);
                }
            }
            Err(_) => summary.failed += 1,
        }
    }
    Ok(summary)
}

/// Does what is due for a turn, for at most `limit`. One that fails moves behind the turns that are due by now, so
/// that however many fail, no other waits for them.
async fn sweep_within(
    deps: &impl Deps,
    upstream: &impl ProviderResponses,
    queue: &impl TurnQueue,
    key: &TurnKey,
    limit: Duration,
) -> Result<Swept, Unavailable> {
    let work = pin!(async {
        let swept = sweep_turn(deps, upstream, key).await?;
        if matches!(swept, Swept::Continuable) {
            queue.send(&TurnMessage::continue_turn(key)).await?;
        }
        Ok(swept)
    });
    let swept = match select(work, pin!(deps.host().sleep(limit))).await {
        Either::Left((swept, _)) => swept,
        Either::Right(_) => Err(Unavailable { what: "the turn", source: "it took too long".into() }),
    };
    if let Err(error) = &swept {
        let (org, session) = (key.session.org.as_str(), key.session.session.as_str());
        let turn = key.turn.as_str();
        tracing::error!(org, session, turn, error = %causes(error), "{}", contracts::log::OVERDUE_TURN_FAILED);
        postpone(deps, key).await;
    }
    swept
}

/// Moves the due time of a turn that failed. If that fails too, the turn stays where it is.
async fn postpone(deps: &impl Deps, key: &TurnKey) {
    let Ok(Some(turn)) = deps.store().turn(key).await else { return };
    if let Some(change) = sweep::postpone(&turn, deps.host().now()) {
        // One try, since the next sweep repeats the work in any case.
        deps.store().write_turn(&change).await.ok();
    }
}

/// Does what is due for a turn.
pub(crate) async fn sweep_turn(
    deps: &impl Deps,
    upstream: &impl ProviderResponses,
    key: &TurnKey,
) -> Result<Swept, Unavailable> {
    let Some(turn) = deps.store().turn(key).await? else {
        return Ok(Swept::Skipped);
    };
    let reason: fn(&mut SweepSummary) -> &mut usize =
        match sweep::action(&turn, deps.host().now(), deps.timing()) {
            sweep::Action::Skip => return Ok(Swept::Skipped),
            sweep::Action::Reschedule(change) => {
                write::turn(deps, &change).await?;
                return Ok(Swept::Alive);
            }
            sweep::Action::Continue(change) => {
                let written = write::turn(deps, &change).await?;
                let is_answered = match turn.state {
                    State::AwaitingTools { .. } => approvals::answered_step(deps, &turn).await?.is_some(),
                    State::Running { .. } | State::Settled(_) | State::Finalized(_) => true,
                };
                let is_own = matches!(written, WriteOutcome::Applied);
                return Ok(if is_own && is_answered { Swept::Continuable } else { Swept::Alive });
            }
            sweep::Action::Salvage => {
                salvage(deps, &turn).await?;
                |summary| &mut summary.salvaged
            }
            sweep::Action::End(change) => {
                write::turn(deps, &change).await?;
                |summary| &mut summary.ended
            }
            sweep::Action::Finalize => |summary| &mut summary.finalized,
        };
    Ok(Swept::Processed { reason, finalized: finalize_turn(deps, upstream, key).await? })
}

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
                Box::pin(meter::hold(deps, &taken, &outcome.report, Amounts::default())).await;
                // Boxed: few turns wait for approvals.
                Box::pin(approvals::ask_approvals(deps, &taken, &outcome)).await?;
                outcomes::transition_of(deps, &taken, writer, &outcome)
            }
            None => {
                let (now, left) =
                    (host.now(), partial::find_work(deps.store(), deps.payloads(), &taken).await);
                // The attempt is dead, so nobody knows better.
                let left = PartialWork { spent: left.spent.map(Spent::into_told), ..left };
                Box::pin(meter::hold_spent(deps, &taken, left.spent.as_ref())).await;
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
