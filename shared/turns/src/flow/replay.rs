//! Replay: the same request again gets what the turn came to, never a second model call (I9).

use std::time::Duration;

use agent::outcome::Response;
use contracts::id::{SessionId, TurnId};
use protocol::{
    Caller,
    id::{SessionKey, TurnKey},
    timing::Timing,
    transition::{take::takeable_at, wait::likely},
    turn::{State, Turn},
};

use super::{executor::Executor, outcomes, read::SessionReader};
use crate::checkpoint::CHECKPOINT_EVERY;
use crate::{
    ports::{AgentDeps, Clock, Deps, PayloadReads, Reads, Unavailable},
    refusal::Refusal,
    stream::Writer,
};

const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// When to come back for a turn that may be taken.
const AT_ONCE: Duration = Duration::from_secs(1);

/// What waiting for a running turn came to.
#[derive(Debug)]
pub(super) enum Waited {
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

impl<D: AgentDeps> Executor<D> {
    /// The answer of a turn that has come to something.
    pub(super) async fn replay(&self, turn: &Turn, stream: &Writer) -> Result<Response, Refusal> {
        stream.of(turn);
        let stored = response(self.deps.payloads(), turn).await?;
        stored.ok_or(Refusal::TurnInProgress {
            retry_after: likely(turn, self.deps.host().now(), self.deps.timing()),
        })
    }

    /// The answer of a turn that somebody else moved on.
    pub(super) async fn what_stands(&self, turn: Turn, stream: &Writer) -> Result<Response, Refusal> {
        match wait(&self.deps, turn, stream).await? {
            Waited::Ready(turn) => self.replay(&turn, stream).await,
            Waited::Dead => Err(Refusal::TurnInProgress { retry_after: AT_ONCE }),
            Waited::Running { retry_after } => Err(Refusal::TurnInProgress { retry_after }),
        }
    }
}

impl<R: Reads, P: PayloadReads> SessionReader<R, P> {
    /// What a turn comes to, for a connection that does not work on it; meanwhile what is kept of its
    /// stream, for at most [`Timing::stream_hold`].
    ///
    /// # Errors
    /// When there is no such turn for this caller, or it is still worked on after that time.
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
        let give_up = clock.monotonic().saturating_add(timing.stream_hold);
        let session = self.store.session(&key.session).await?;
        self.seen(caller, session).await?.ok_or(Refusal::TurnNotFound)?;
        loop {
            let turn = self.store.turn(&key).await?.ok_or(Refusal::TurnNotFound)?;
            let left = give_up.saturating_sub(clock.monotonic());
            let in_progress = Refusal::TurnInProgress { retry_after: AT_ONCE };
            match wait_with(&self.store, clock, &timing.for_at_most(left), turn, stream).await? {
                Waited::Ready(turn) => {
                    stream.of(&turn);
                    return response(&self.payloads, &turn).await?.ok_or(in_progress);
                }
                Waited::Running { .. } => return Err(in_progress),
                // Its attempt died. Whoever may write takes it over or ends it; this only waits for that.
                Waited::Dead if left.is_zero() => return Err(in_progress),
                Waited::Dead => clock.sleep(CHECKPOINT_EVERY.min(left)).await,
            }
        }
    }
}

/// What a turn that does not run answers: decided on the head alone (rule 7).
async fn response(payloads: &impl PayloadReads, turn: &Turn) -> Result<Option<Response>, Unavailable> {
    match &turn.state {
        State::Running { .. } => Ok(None),
        State::AwaitingTools { .. } => {
            let outcome = outcomes::written_by(payloads, &turn.key, &turn.attempt).await?;
            Ok(Some(outcome.response))
        }
        State::Settled(settlement) | State::Finalized(settlement) => {
            outcomes::response(payloads, &turn.key, &settlement.verdict).await.map(Some)
        }
    }
}

/// Waits for a turn that someone else works on, at most [`Timing::replay_wait`]; a client that asked for
/// a stream sees meanwhile what is kept of it, for up to [`Timing::stream_hold`].
pub(super) async fn wait(deps: &impl Deps, seen: Turn, stream: &Writer) -> Result<Waited, Refusal> {
    wait_with(deps.store(), deps.host(), deps.timing(), seen, stream).await
}

async fn wait_with(
    store: &impl Reads,
    clock: &impl Clock,
    timing: &Timing,
    seen: Turn,
    stream: &Writer,
) -> Result<Waited, Refusal> {
    let patience = if stream.is_streamed() { timing.stream_hold } else { timing.replay_wait };
    let give_up = clock.monotonic().saturating_add(patience);
    let mut pause = FIRST_PAUSE;
    let mut turn = seen;
    loop {
        let State::Running { lease_ends, .. } = turn.state else {
            return Ok(Waited::Ready(Box::new(turn)));
        };
        stream.follows(&turn);
        relay(store, &turn.key, stream).await?;
        let takeable = clock.now().until(takeable_at(lease_ends, timing));
        if takeable.is_zero() {
            return Ok(Waited::Dead);
        }
        let left = give_up.saturating_sub(clock.monotonic());
        if left.is_zero() {
            let retry_after = likely(&turn, clock.now(), timing);
            return Ok(Waited::Running { retry_after });
        }
        clock.sleep(pause.min(left).min(takeable)).await;
        pause = (pause * 2).min(if stream.is_streamed() { CHECKPOINT_EVERY } else { LONGEST_PAUSE });
        turn = store.turn(&turn.key).await?.ok_or(Refusal::TurnNotFound)?;
    }
}

/// Hands on what another attempt kept of its stream since it was last looked at.
async fn relay(store: &impl Reads, turn: &TurnKey, stream: &Writer) -> Result<(), Unavailable> {
    if !stream.is_streamed() {
        return Ok(());
    }
    for checkpoint in store.checkpoints(turn, stream.read_up_to()).await? {
        stream.relay(&checkpoint);
    }
    Ok(())
}
