//! Replays a turn's stored response to a repeated request, without another model call (I9).

use std::time::Duration;

use agent::outcome::Response;
use contracts::id::{SessionId, TurnId};
use protocol::{
    Caller,
    id::{SessionKey, TurnKey},
    timing::Timing,
    transition::{take_over::takeover_after, wait::estimate_wait},
    turn::{State, Turn},
};

use crate::checkpoint::CHECKPOINT_INTERVAL;
use crate::flow::read::session_reader::SessionReader;
use crate::flow::{executor::Executor, finish::outcomes};
use crate::{
    ports::{AgentDeps, Clock, Deps, PayloadReads, Reads, Unavailable},
    refusal::Refusal,
    stream::Writer,
};

const MIN_PAUSE: Duration = Duration::from_millis(250);
const MAX_PAUSE: Duration = Duration::from_secs(2);
/// The retry delay for a turn that may be taken over.
const TAKEOVER_RETRY: Duration = Duration::from_secs(1);

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

impl<D: AgentDeps> Executor<D> {
    /// Replays the response of a turn that isn't running.
    pub(crate) async fn replay(&self, turn: &Turn, stream: &Writer) -> Result<Response, Refusal> {
        stream.set_round(turn);
        let stored = response(self.deps.payloads(), turn).await?;
        stored.ok_or(Refusal::TurnInProgress {
            retry_after: estimate_wait(turn, self.deps.host().now(), self.deps.timing()),
        })
    }

    /// Waits for a turn that another attempt owns, and replays its response.
    pub(crate) async fn replay_stored(&self, turn: Turn, stream: &Writer) -> Result<Response, Refusal> {
        match wait(&self.deps, turn, stream).await? {
            WaitOutcome::Ready(turn) => self.replay(&turn, stream).await,
            WaitOutcome::Dead => Err(Refusal::TurnInProgress { retry_after: TAKEOVER_RETRY }),
            WaitOutcome::Running { retry_after } => Err(Refusal::TurnInProgress { retry_after }),
        }
    }
}

impl<R: Reads, P: PayloadReads> SessionReader<R, P> {
    /// Follows a turn without working on it: relays its stored stream, and returns its response, within at most
    /// [`Timing::max_stream_follow`].
    ///
    /// # Errors
    /// If this caller has no such turn, or it is still in progress after that time.
    pub async fn follow(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
        stream: &Writer,
        clock: &impl Clock,
        timing: &Timing,
    ) -> Result<Response, Refusal> {
        let key = SessionKey { org: caller.org.clone(), session }.turn(turn);
        let give_up = clock.monotonic().saturating_add(timing.max_stream_follow);
        let session = self.store.session(&key.session).await?;
        self.visible(caller, session).await?.ok_or(Refusal::TurnNotFound)?;
        loop {
            let turn = self.store.turn(&key).await?.ok_or(Refusal::TurnNotFound)?;
            let left = give_up.saturating_sub(clock.monotonic());
            let in_progress = Refusal::TurnInProgress { retry_after: TAKEOVER_RETRY };
            match wait_with(&self.store, clock, &timing.with_max_stream_follow(left), turn, stream).await? {
                WaitOutcome::Ready(turn) => {
                    stream.set_round(&turn);
                    return response(&self.payloads, &turn).await?.ok_or(in_progress);
                }
                WaitOutcome::Running { .. } => return Err(in_progress),
                // Its attempt died. A request that may write takes it over or ends it. This one only waits for that.
                WaitOutcome::Dead if left.is_zero() => return Err(in_progress),
                WaitOutcome::Dead => clock.sleep(CHECKPOINT_INTERVAL.min(left)).await,
            }
        }
    }
}

/// Returns the response of a turn that isn't running, decided by the head alone (rule 7).
async fn response(payloads: &impl PayloadReads, turn: &Turn) -> Result<Option<Response>, Unavailable> {
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

/// Waits for a turn that another attempt owns, at most [`Timing::replay_wait`]. A client that asked for a stream gets
/// the stored stream meanwhile, for up to [`Timing::max_stream_follow`].
pub(crate) async fn wait(deps: &impl Deps, turn: Turn, stream: &Writer) -> Result<WaitOutcome, Refusal> {
    wait_with(deps.store(), deps.host(), deps.timing(), turn, stream).await
}

async fn wait_with(
    store: &impl Reads,
    clock: &impl Clock,
    timing: &Timing,
    seen: Turn,
    stream: &Writer,
) -> Result<WaitOutcome, Refusal> {
    let max_wait = if stream.is_streamed() { timing.max_stream_follow } else { timing.replay_wait };
    let give_up = clock.monotonic().saturating_add(max_wait);
    let mut pause = MIN_PAUSE;
    let mut turn = seen;
    loop {
        let State::Running { lease_ends, .. } = turn.state else {
            return Ok(WaitOutcome::Ready(Box::new(turn)));
        };
        stream.following(&turn);
        relay(store, &turn.key, stream).await?;
        let takeable = clock.now().until(takeover_after(lease_ends, timing));
        if takeable.is_zero() {
            return Ok(WaitOutcome::Dead);
        }
        let left = give_up.saturating_sub(clock.monotonic());
        if left.is_zero() {
            let retry_after = estimate_wait(&turn, clock.now(), timing);
            return Ok(WaitOutcome::Running { retry_after });
        }
        clock.sleep(pause.min(left).min(takeable)).await;
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
