//! Cancel: end an open turn on the caller's word.

use contracts::id::{SessionId, TurnId};
use protocol::Caller;

use crate::{
    flow::{
        Executor,
        write::{self, Written},
    },
    ports::{Announcements, Payloads, Store, World},
    refusal::Refusal,
};
use agent::model::Model;
use protocol::{id::SessionKey, transition::settle, turn::Reason};

/// How often a cancel decides anew because the turn moved on meanwhile.
const ROUNDS: usize = 8;

impl<S: Store, P: Payloads, A: Announcements, M: Model, W: World> Executor<S, P, A, M, W> {
    /// Settles a turn as cancelled, unless it is settled already: then its outcome stands. The attempt
    /// that works on it learns of it when it next writes, and stops paying.
    ///
    /// # Errors
    /// When there is no such turn for this caller.
    pub async fn cancel(&self, caller: &Caller, session: SessionId, turn: TurnId) -> Result<(), Refusal> {
        let key = SessionKey { org: caller.org.clone(), session }.turn(turn);
        for _ in 0..ROUNDS {
            let turn = self.store.turn(&key).await?.ok_or(Refusal::TurnNotFound)?;
            let Ok(change) = settle::end(&turn, Reason::Cancelled, self.world.now(), &self.timing) else {
                return Ok(());
            };
            if let Written::Applied = write::turn(&self.store, &self.world, &change).await? {
                self.announce(&turn).await;
                return Ok(());
            }
        }
        Err(Refusal::Contended)
    }
}
