//! Cancel: end an open turn on the caller's word.

use contracts::id::{SessionId, TurnId};
use protocol::{Caller, id::SessionKey, transition::settle, turn::Reason};

use super::{
    executor::{Executor, Invocation},
    write::{self, Written},
};
use crate::{
    ports::{AgentDeps, Clock, Reads},
    refusal::Refusal,
};

/// How often a cancel decides anew because the turn moved on meanwhile.
const ROUNDS: usize = 8;

impl<D: AgentDeps> Executor<D> {
    /// Settles a turn as cancelled, unless it is settled already: then its outcome stands. The attempt
    /// that works on it learns of it when it next writes, and stops paying.
    ///
    /// # Errors
    /// When there is no such turn for this caller.
    pub async fn cancel(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
        invocation: &Invocation,
    ) -> Result<(), Refusal> {
        let key = SessionKey { org: caller.org.clone(), session }.turn(turn);
        for _ in 0..ROUNDS {
            let turn = self.deps.store().turn(&key).await?.ok_or(Refusal::TurnNotFound)?;
            let (now, timing) = (self.deps.host().now(), self.deps.timing());
            let Ok(change) = settle::end(&turn, Reason::Cancelled, now, timing) else {
                return Ok(());
            };
            if let Written::Applied = write::turn(&self.deps, &change).await? {
                self.announce(&turn, invocation.correlation.as_ref()).await;
                return Ok(());
            }
        }
        Err(Refusal::Contended)
    }
}
