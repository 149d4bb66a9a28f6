//! Follow: a turn's stream, for a connection that does not work on the turn itself. Never writes.

use std::time::Duration;

use contracts::id::{SessionId, TurnId};
use protocol::Caller;

use super::{
    Reader,
    replay::{self, Waited},
};
use crate::refusal::Refusal;
use crate::{
    ports::{Payloads, Shelf, World},
    stream::{CHECKPOINT_EVERY, Live},
};
use agent::outcome::Response;
use protocol::{id::SessionKey, timing::Timing};

impl<S: Shelf, P: Payloads> Reader<S, P> {
    /// What a turn comes to; meanwhile what is kept of its stream, for at most [`Timing::stream_hold`].
    ///
    /// # Errors
    /// When there is no such turn for this caller, or it is still worked on after that time.
    pub async fn follow(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
        live: &Live,
        world: &impl World,
        timing: &Timing,
    ) -> Result<Response, Refusal> {
        let key = SessionKey { org: caller.org.clone(), session }.turn(turn);
        let give_up = world.monotonic().saturating_add(timing.stream_hold);
        loop {
            let turn = self.store.turn(&key).await?.ok_or(Refusal::TurnNotFound)?;
            let left = give_up.saturating_sub(world.monotonic());
            let in_progress = Refusal::TurnInProgress { retry_after: replay::retry_after(Duration::ZERO) };
            match replay::wait(&self.store, world, &timing.for_at_most(left), turn, live).await? {
                Waited::Ready(turn) => {
                    live.of(&turn);
                    return replay::response(&self.payloads, &turn).await?.ok_or(in_progress);
                }
                Waited::Running { .. } => return Err(in_progress),
                // Its attempt died. Whoever may write takes it over or ends it; this only waits for that.
                Waited::Dead if left.is_zero() => return Err(in_progress),
                Waited::Dead => world.sleep(CHECKPOINT_EVERY.min(left)).await,
            }
        }
    }
}
