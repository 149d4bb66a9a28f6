//! Replay: the same request again gets what the turn came to, never a second model call (I9).

use std::time::Duration;

use crate::{
    flow::{checkpoint, outcome},
    ports::{Payloads, Store, Unavailable, World},
    refusal::Refusal,
    stream::{CHECKPOINT_EVERY, Live},
};
use agent::outcome::Response;
use protocol::{
    timing::Timing,
    transition::take::takeable_at,
    turn::{State, Turn},
};

const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// What waiting for a running turn came to.
#[derive(Debug)]
pub(crate) enum Waited {
    /// It has something to answer with.
    Ready(Box<Turn>),
    /// Its attempt died meanwhile: it may be taken over.
    Dead,
    /// It still runs.
    Running {
        /// When to ask again.
        retry_after: Duration,
    },
}

/// What a turn that does not run answers: decided on the head alone (rule 7).
pub(crate) async fn response(payloads: &impl Payloads, turn: &Turn) -> Result<Option<Response>, Unavailable> {
    match &turn.state {
        State::Running { .. } => Ok(None),
        State::AwaitingTools { .. } => {
            let outcome = outcome::written_by(payloads, &turn.key, &turn.owner).await?;
            Ok(Some(outcome.response))
        }
        State::Settled(settlement) | State::Finalized(settlement) => {
            outcome::response(payloads, &turn.key, &settlement.verdict).await.map(Some)
        }
    }
}

/// Waits for a turn that someone else works on, at most [`Timing::replay_wait`]; a client that asked for
/// a stream sees meanwhile what is kept of it, for up to [`Timing::stream_hold`].
pub(crate) async fn wait(
    store: &impl Store,
    world: &impl World,
    timing: &Timing,
    seen: Turn,
    live: &Live,
) -> Result<Waited, Refusal> {
    let patience = if live.is_streamed() { timing.stream_hold } else { timing.replay_wait };
    let give_up = world.monotonic().saturating_add(patience);
    let mut pause = FIRST_PAUSE;
    let mut turn = seen;
    loop {
        let State::Running { lease_ends, .. } = turn.state else {
            return Ok(Waited::Ready(Box::new(turn)));
        };
        checkpoint::relay(store, &turn.key, live).await?;
        let takeable = world.now().until(takeable_at(lease_ends, timing));
        if takeable.is_zero() {
            return Ok(Waited::Dead);
        }
        let left = give_up.saturating_sub(world.monotonic());
        if left.is_zero() {
            return Ok(Waited::Running { retry_after: retry_after(takeable) });
        }
        world.sleep(pause.min(left).min(takeable)).await;
        pause = (pause * 2).min(if live.is_streamed() { CHECKPOINT_EVERY } else { LONGEST_PAUSE });
        turn = store.turn(&turn.key).await?.ok_or(Refusal::TurnNotFound)?;
    }
}

/// Between one second and thirty: what is left of the lease.
pub(crate) fn retry_after(left: Duration) -> Duration {
    left.clamp(Duration::from_secs(1), Duration::from_secs(30))
}
