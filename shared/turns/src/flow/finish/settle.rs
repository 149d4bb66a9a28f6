//! Settles a turn: stores its outcome, decides the turn by it, and announces it to the finalizer.

use std::{pin::pin, time::Duration};

use agent::outcome::{Outcome, Response, answer::File};
use contracts::error::causes;
use futures::future::{Either, join, join3, select, try_join_all};
use protocol::{
    change::PartialWork,
    correlation::CorrelationId,
    queue_message::FinalizeMessage,
    transition::{settle, spend},
    turn::{EndReason, Turn, Verdict},
};

use crate::{
    flow::{
        finish::{approvals, outcomes, replay},
        meter,
        owned_turn::OwnedTurn,
        write::{self, WriteOutcome},
    },
    ports::{Deps, FinalizeQueue, Host, Payloads, QueueDeps, Timer, Unavailable},
    refusal::Refusal,
    stream::Writer,
};

/// Stores the outcome, then decides the turn by it and announces it concurrently. Returns the turn's final
/// response, whoever decided it.
pub(crate) async fn settle(
    deps: &impl QueueDeps,
    owned: &OwnedTurn,
    outcome: Outcome,
    files: &[File],
    stream: &Writer,
) -> Result<Response, Refusal> {
    let turn = &owned.turn;
    // The next turn may start once this one is answered, so the limits count it by then. Storing the outcome takes longer.
    let held = Box::pin(meter::hold(deps, turn, &outcome.report, owned.reserved));
    let (stored, ()) = join(store_outcome(deps, owned, &outcome, files), held).await;
    let (change, response) = match stored {
        Ok(()) => (outcomes::transition_of(deps, turn, turn.attempt.clone(), &outcome), outcome.response),
        Err(error) => {
            tracing::error!(error = %causes(&error), "{}", contracts::log::OUTCOME_NOT_STORED);
            let now = deps.host().now();
            let verdict = Verdict::Ended(EndReason::StorageUnavailable);
            (
                settle::settle(turn, verdict, now, now, deps.timing()).map(|change| {
                    change.with_partial_work(PartialWork {
                        last_step: owned.recorded(),
                        checkpoint: None,
                        spent: owned.spending.at_stop(),
                    })
                }),
                Response::from_end_reason(EndReason::StorageUnavailable),
            )
        }
    };
    let Ok(change) = change else {
        return replay::replay_stored(deps, turn.clone(), stream).await;
    };
    let announced = announce(deps, turn, owned.scope.correlation.as_ref());
    // Boxed: few orgs limit concurrent turns.
    let left = Box::pin(meter::leave(deps, turn));
    let (written, (), ()) = join3(write::turn(deps, &change), announced, left).await;
    match written? {
        WriteOutcome::Applied => Ok(response),
        // Rule 6: an attempt that loses the write responds with the stored outcome, never with its own text.
        WriteOutcome::Superseded(Some(other)) => {
            record_spent(deps, owned, &other).await;
            replay::replay_stored(deps, *other, stream).await
        }
        WriteOutcome::Superseded(None) => Err(Refusal::TurnNotFound),
    }
}

/// How long a failing outcome is stored again. A client waits meanwhile.
const RETRIED_FOR: Duration = Duration::from_secs(60);

/// Stores the answer's files, then the outcome object that refers to them (I10). Retries for a minute, but leaves a
/// quarter of the owner's last lease to the write that ends the turn. A slow try would use that up too, and the turn would
/// wait for a takeover.
async fn store_outcome(
    deps: &impl Deps,
    owned: &OwnedTurn,
    outcome: &Outcome,
    files: &[File],
) -> Result<(), Unavailable> {
    let (payloads, host) = (deps.payloads(), deps.host());
    let owned_until = owned.scope.deadline.saturating_sub(deps.timing().stop_margin);
    let left = owned_until.saturating_sub(host.monotonic());
    let mut over = pin!(host.sleep(RETRIED_FOR.min(left * 3 / 4)));
    loop {
        let store = pin!(async {
            try_join_all(files.iter().map(|file| payloads.put_file(file))).await?;
            outcomes::store(payloads, &owned.turn, outcome).await?;
            approvals::ask_approvals(deps, &owned.turn, outcome).await
        });
        let failed = match select(store, over).await {
            Either::Left((Ok(()), _)) => return Ok(()),
            Either::Left((Err(error), still)) => {
                over = still;
                error
            }
            Either::Right(_) => {
                return Err(Unavailable { what: "the payload store", source: "no reply in time".into() });
            }
        };
        let pause = host.jitter(Duration::from_secs(1));
        if owned.lease.remaining(host) <= pause {
            return Err(failed);
        }
        match select(pin!(host.sleep(pause)), over).await {
            Either::Left(((), still)) => over = still,
            Either::Right(_) => return Err(failed),
        }
    }
}

/// Tells what the turn has spent, a call that was dropped included, if the stored head shows that the attempt has lost it
/// and nobody has said so yet. If it can't be stored, the last renewal, checkpoint or step says what is counted.
pub(crate) async fn record_spent(deps: &impl Deps, owned: &OwnedTurn, stored: &Turn) {
    let Some(spent) = owned.spending.at_stop() else { return };
    let Ok(change) = spend::record(stored, &owned.turn.attempt, spent) else { return };
    let held = meter::hold_spent(deps, stored, change.after.spent.as_ref());
    if let (Err(error), ()) = join(write::turn(deps, &change), held).await {
        tracing::warn!(error = %causes(&error), "{}", contracts::log::USAGE_NOT_STORED);
    }
}

/// Announces that a turn is settled, so that it is finalized at once.
pub(crate) async fn announce(deps: &impl QueueDeps, turn: &Turn, correlation: Option<&CorrelationId>) {
    let message = FinalizeMessage::TurnSettled {
        org: turn.key.session.org.clone(),
        session: turn.key.session.session.clone(),
        turn: turn.key.turn.clone(),
        correlation: correlation.cloned(),
    };
    if let Err(error) = deps.queue().send(&message).await {
        // The sweep finds the turn anyway; only latency is lost.
        tracing::warn!(error = %causes(&error), "{}", contracts::log::SETTLED_NOTICE_FAILED);
    }
}
