//! Follows a turn on which another call works, without working on it.

use agent::outcome::Response;
use contracts::id::{SessionId, TurnId};
use protocol::{Caller, id::SessionKey, timing::Timing};

use crate::checkpoint::CHECKPOINT_INTERVAL;
use crate::flow::{
    finish::replay::{self, TAKEOVER_RETRY, WaitOutcome},
    read::session_reader::SessionReader,
};
use crate::{
    ports::{Host, PayloadReads, Reads},
    refusal::Refusal,
    stream::Writer,
};

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
        clock: &impl Host,
        timing: &Timing,
    ) -> Result<Response, Refusal> {
        let key = SessionKey { org: caller.org.clone(), session }.turn(turn);
        let give_up = clock.monotonic().saturating_add(timing.max_stream_follow);
        let session = self.store.session(&key.session).await?;
        self.visible(caller, &key.session, session).await?.ok_or(Refusal::TurnNotFound)?;
        loop {
            let turn = self.store.turn(&key).await?.ok_or(Refusal::TurnNotFound)?;
            let left = give_up.saturating_sub(clock.monotonic());
            let in_progress = Refusal::TurnInProgress { retry_after: TAKEOVER_RETRY };
            match replay::wait_with(&self.store, clock, &timing.with_max_stream_follow(left), turn, stream)
                .await?
            {
                WaitOutcome::Ready(turn) => {
                    stream.set_round(&turn);
                    return replay::response(&self.payloads, &turn).await?.ok_or(in_progress);
                }
                WaitOutcome::Running { .. } => return Err(in_progress),
                // Its attempt died. A request that may write takes it over or ends it. This one only waits for that.
                WaitOutcome::Dead if left.is_zero() => return Err(in_progress),
                WaitOutcome::Dead => clock.sleep(CHECKPOINT_INTERVAL.min(left)).await,
            }
        }
    }
}
