//! Cancels an open turn at the caller's request.

use contracts::{
    id::{SessionId, TurnId},
    invoke_result::Warning,
};
use futures::future::join3;
use protocol::{
    Caller,
    id::SessionKey,
    transition::settle,
    turn::{EndReason, Phase, Turn, Verdict},
};

use crate::flow::{
    access,
    executor::{Executor, Invocation},
    finish::evidence,
    write::{self, WriteOutcome},
};
use crate::{
    ports::{AgentDeps, Clock, Reads, Timer},
    refusal::Refusal,
};

/// The most times a cancel decides again because the turn changed meanwhile.
const MAX_TRIES: usize = 8;

/// The outcome of a cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelOutcome {
    /// The turn is cancelled, by this call or by an earlier one.
    Cancelled,
    /// The turn had already ended otherwise.
    TooLate,
}

impl CancelOutcome {
    /// Returns the warning to include in the response, if any.
    #[must_use]
    pub fn warning(self) -> Option<Warning> {
        match self {
            Self::Cancelled => None,
            Self::TooLate => Some(Warning {
                message: "The turn had ended before it could be cancelled; its outcome stands.".to_owned(),
                error_code: None,
            }),
        }
    }

    fn from_settled(turn: &Turn) -> Self {
        match turn.settlement().map(|settlement| &settlement.verdict) {
            Some(Verdict::Ended(EndReason::Cancelled)) => Self::Cancelled,
            _ => Self::TooLate,
        }
    }
}

impl<D: AgentDeps> Executor<D> {
    /// Settles a turn as cancelled. A turn that is settled already keeps its outcome. The running attempt notices at
    /// its next ownership check. Once this returns, the attempt starts no further model call or tool effect.
    ///
    /// # Errors
    /// If this caller has no such turn.
    pub async fn cancel(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
        invocation: &Invocation,
    ) -> Result<CancelOutcome, Refusal> {
        let key = SessionKey { org: caller.org.clone(), session }.turn(turn);
        for _ in 0..MAX_TRIES {
            let store = self.deps.store();
            let (session, turn) = store.session_and_turn(&key).await?;
            let (Some(session), Some(turn)) = (session, turn) else { return Err(Refusal::TurnNotFound) };
            if !access::can_see(store, caller, &session).await? {
                return Err(Refusal::TurnNotFound);
            }
            let (now, timing) = (self.deps.host().now(), self.deps.timing());
            let Ok(change) = settle::end(&turn, EndReason::Cancelled, now, timing) else {
                return Ok(CancelOutcome::from_settled(&turn));
            };
            let left = evidence::partial_work(store, self.deps.payloads(), &turn).await;
            let change = change.ended_by(&caller.user.id).with_partial_work(left);
            if let WriteOutcome::Applied = write::turn(&self.deps, &change).await? {
                let announced = self.announce(&turn, invocation.correlation.as_ref());
                let audited = access::audit_write(store, "cancel", caller, &session);
                join3(announced, audited, self.wait_until_noticed(&turn)).await;
                return Ok(CancelOutcome::Cancelled);
            }
        }
        Err(Refusal::Contended)
    }

    /// Waits until the running attempt can no longer rely on its last ownership check.
    pub(in crate::flow) async fn wait_until_noticed(&self, turn: &Turn) {
        if turn.state.phase() == Phase::Running {
            self.deps.host().sleep(self.deps.timing().ownership_check_ttl).await;
        }
    }
}
