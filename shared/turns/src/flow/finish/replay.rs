//! Replays a turn's stored response to a repeated request, without another model call (I9).

use std::time::Duration;

use agent::outcome::Response;
use protocol::{
    id::TurnKey,
    timing::Timing,
    transition::{take_over::takeover_after, wait::estimate_wait},
    turn::{State, Turn},
};

use crate::checkpoint::CHECKPOINT_INTERVAL;
use crate::flow::finish::{approvals, outcomes};
use crate::{
    ports::{Deps, Host, PayloadReads, Reads, Unavailable},
    refusal::Refusal,
    stream::Writer,
};

const MIN_PAUSE: Duration = Duration::from_millis(250);
const MAX_PAUSE: Duration = Duration::from_secs(2);
/// The retry delay for a turn that may be taken over.
pub(crate) const TAKEOVER_RETRY: Duration = Duration::from_secs(1);

/// The outcome of waiting for a running turn.
#[derive(Debug)]
pub(crate) enum WaitOutcome {
    /// The turn has a response.
    Ready(Box<Turn>),
    /// Its attempt died: the turn may be taken over.
    Dead,
    /// It is still running.
    Running {
        /// The time after which to ask again.
        retry_after: Duration,
    },
}

/// Replays the response of a turn that isn't running.
pub(crate) async fn replay(deps: &impl Deps, turn: &Turn, stream: &Writer) -> Result<Response, Refusal> {
    stream.set_round(turn);
    let stored = response(deps.payloads(), turn).await?;
    stored
        .ok_or(Refusal::TurnInProgress { retry_after: estimate_wait(turn, deps.host().now(), deps.timing()) })
}

/// Waits for a turn that another attempt owns, and replays its response.
pub(crate) async fn replay_stored(
    deps: &impl Deps,
    turn: Turn,
    stream: &Writer,
) -> Result<Response, Refusal> {
    match wait(deps, turn, stream).await? {
        WaitOutcome::Ready(turn) => replay(deps, &turn, stream).await,
        WaitOutcome::Dead => Err(Refusal::TurnInProgress { retry_after: TAKEOVER_RETRY }),
        WaitOutcome::Running { retry_after } => Err(Refusal::TurnInProgress { retry_after }),
    }
}

/// Returns the response of a turn that isn't running, decided by the head alone (rule 7).
pub(crate) async fn response(
    payloads: &impl PayloadReads,
    turn: &Turn,
) -> Result<Option<Response>, Unavailable> {
    match &turn.state {
        State::Running { .. } => Ok(None),
        State::AwaitingTools { .. } => {
            let outcome = outcomes::load(payloads, &turn.key, &turn.attempt).await?;
            Ok(Some(outcome.response))
        }
        State::Settled(settlement) | State::Finalized(settlement) => {
            outcomes::response(payloads, &turn.key, &settlement.verdict).await.map(Some)
        }
    }
}

/// Waits for a turn that another attempt owns, or is about to, at most [`Timing::replay_wait`]. A client that asked for a stream gets
/// the stored stream meanwhile, for up to [`Timing::max_stream_follow`].
pub(crate) async fn wait(deps: &impl Deps, turn: Turn, stream: &Writer) -> Result<WaitOutcome, Refusal> {
    wait_with(deps.store(), deps.host(), deps.timing(), turn, stream).await
}

/// Waits as [`wait`] does, with the ports that a reader has.
pub(crate) async fn wait_with(
    store: &impl Reads,
    clock: &impl Host,
    timing: &Timing,
    seen: Turn,
    stream: &Writer,
) -> Result<WaitOutcome, Refusal> {
    let max_wait = if stream.is_streamed() { timing.max_stream_follow } else { timing.replay_wait };
    let give_up = clock.monotonic().saturating_add(max_wait);
    let mut pause = MIN_PAUSE;
    let mut turn = seen;
    loop {
        let left = give_up.saturating_sub(clock.monotonic());
        let most = if let State::Running { lease_ends, .. } = turn.state {
            stream.following(&turn);
            relay(store, &turn.key, stream).await?;
            let takeable = clock.now().until(takeover_after(lease_ends, timing));
            if takeable.is_zero() {
                return Ok(WaitOutcome::Dead);
            }
            if left.is_zero() {
                let retry_after = estimate_wait(&turn, clock.now(), timing);
                return Ok(WaitOutcome::Running { retry_after });
            }
            takeable
        } else {
            // The turn queue has an answered one continued soon.
            if left.is_zero() || !approvals::are_answered(store, &turn, clock.now()).await? {
                return Ok(WaitOutcome::Ready(Box::new(turn)));
            }
            MAX_PAUSE
        };
        clock.sleep(pause.min(left).min(most)).await;
        pause = (pause * 2).min(if stream.is_streamed() { CHECKPOINT_INTERVAL } else { MAX_PAUSE });
        turn = store.turn(&turn.key).await?.ok_or(Refusal::TurnNotFound)?;
    }
}

/// Relays the checkpoints that another attempt stored since the last call.
async fn relay(store: &impl Reads, turn: &TurnKey, stream: &Writer) -> Result<(), Unavailable> {
    if !stream.is_streamed() {
        return Ok(());
    }
    for checkpoint in store.checkpoints(turn, stream.last_position()).await? {
        stream.relay(&checkpoint);
    }
    Ok(())
}
