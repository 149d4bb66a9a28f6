//! Cancel: end an open turn on the caller's word.

use contracts::{
    id::{SessionId, TurnId},
    invoke_result::Warning,
};
use futures::future::join3;
use protocol::{
    Caller,
    id::SessionKey,
    transition::settle,
    turn::{Phase, Reason, Turn, Verdict},
};

use super::{
    access,
    executor::{Executor, Invocation},
    steps,
    write::{self, Written},
};
use crate::{
    ports::{AgentDeps, Clock, Reads, Timer},
    refusal::Refusal,
};

/// How often a cancel decides anew because the turn moved on meanwhile.
const ROUNDS: usize = 8;

/// What a cancel came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    /// The turn is cancelled, by this call or by one before.
    Now,
    /// The turn had come to something else before.
    TooLate,
}

impl Cancelled {
    /// What the caller should know about it.
    #[must_use]
    pub fn warning(self) -> Option<Warning> {
        match self {
            Self::Now => None,
            Self::TooLate => Some(Warning {
                message: "The turn had ended before it could be cancelled; its outcome stands.".to_owned(),
                error_code: None,
            }),
        }
    }

    fn before(turn: &Turn) -> Self {
        match turn.settlement().map(|settlement| &settlement.verdict) {
            Some(Verdict::Ended(Reason::Cancelled)) => Self::Now,
            _ => Self::TooLate,
        }
    }
}

impl<D: AgentDeps> Executor<D> {
    /// Settles a turn as cancelled, unless it is settled already: then its outcome stands. The attempt
    /// that works on it learns of it when it next looks, and stops paying: once this returns it begins
    /// nothing more.
    ///
    /// # Errors
    /// When there is no such turn for this caller.
    pub async fn cancel(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
        invocation: &Invocation,
    ) -> Result<Cancelled, Refusal> {
        let key = SessionKey { org: caller.org.clone(), session }.turn(turn);
        for _ in 0..ROUNDS {
            let store = self.deps.store();
            let (session, turn) = store.session_and_turn(&key).await?;
            let (Some(session), Some(turn)) = (session, turn) else { return Err(Refusal::TurnNotFound) };
            if !access::sees(store, caller, &session).await? {
                return Err(Refusal::TurnNotFound);
            }
            let (now, timing) = (self.deps.host().now(), self.deps.timing());
            let Ok(change) = settle::end(&turn, Reason::Cancelled, now, timing) else {
                return Ok(Cancelled::before(&turn));
            };
            let left = steps::left(store, self.deps.payloads(), &turn).await;
            let change = change.by(&caller.user.id).knowing(left);
            if let Written::Applied = write::turn(&self.deps, &change).await? {
                let announced = self.announce(&turn, invocation.correlation.as_ref());
                let audited = access::audit_write(store, "cancel", caller, &session);
                join3(announced, audited, self.unseen(&turn)).await;
                return Ok(Cancelled::Now);
            }
        }
        Err(Refusal::Contended)
    }

    /// Until whoever works on the turn can't rely any more on what it saw before.
    pub(super) async fn unseen(&self, turn: &Turn) {
        if turn.state.phase() == Phase::Running {
            self.deps.host().sleep(self.deps.timing().look_lasts).await;
        }
    }
}
