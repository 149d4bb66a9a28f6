//! Finalizes turns: writes the details of a settled turn, then makes its head terminal. Details come first, so
//! whatever a terminal head refers to exists (I10).

use futures::future::try_join4;
use protocol::{
    detail::{Participant, ResultDetail},
    id::TurnKey,
    session::Session,
    transition::finalize::finalize,
    turn::{State, Turn},
};

use crate::flow::{
    finish::{evidence::TurnEvidence, partial_answer, turn_event},
    meter,
    write::{self, WriteOutcome},
};
use crate::ports::{Deps, Reads, Store, Unavailable};

/// The most times a finalization decides again because the session changed meanwhile.
const MAX_TRIES: usize = 8;

/// Makes settled turns terminal, and sweeps overdue turns.
#[derive(Debug)]
pub struct Finalizer<D> {
    pub(crate) deps: D,
}

impl<D: Deps> Finalizer<D> {
    /// Creates a finalizer over these dependencies.
    #[must_use]
    pub fn new(deps: D) -> Self {
        Self { deps }
    }

    /// Makes a turn terminal if it is settled. Returns true if this call did it. A turn in any other state is left
    /// alone, because the message that names it is only a hint (I8).
    ///
    /// # Errors
    /// If a store can't be reached, or the session stays contended.
    pub async fn finalize(&self, key: &TurnKey) -> Result<bool, Unavailable> {
        let store = self.deps.store();
        for _ in 0..MAX_TRIES {
            let (session, turn) = store.session_and_turn(key).await?;
            let (Some(session), Some(turn)) = (session, turn) else {
                return Ok(false);
            };
            let State::Settled(_) = turn.state else {
                return Ok(false);
            };
            if self.try_finalize(&session, &turn).await? {
                return Ok(true);
            }
        }
        Err(Unavailable { what: "the session", source: "it stayed contended".into() })
    }

    /// Tries once: writes the details, then the transaction that makes the turn terminal.
    async fn try_finalize(&self, session: &Session, turn: &Turn) -> Result<bool, Unavailable> {
        let evidence = TurnEvidence::load(self.deps.store(), self.deps.payloads(), turn).await?;
        let Ok(finalized) = finalize(session, turn, evidence.summary().as_ref()) else {
            return Ok(false);
        };
        publish_details(&self.deps, turn, &evidence, &finalized.result).await?;
        let written = write::commit(&self.deps, &finalized.clone().commit(session)).await?;
        let applied = matches!(written, WriteOutcome::Applied);
        if applied {
            turn_event::log_terminal(&finalized, evidence.outcome());
        }
        Ok(applied)
    }
}

/// Writes the details of a settled turn. A settlement is irrevocable, so any number of writers write the same. The
/// client's response doesn't wait for this.
pub(crate) async fn publish_details(
    deps: &impl Deps,
    turn: &Turn,
    evidence: &TurnEvidence,
    result: &ResultDetail,
) -> Result<(), Unavailable> {
    let result_report = &result.report;
    let result = deps.store().put_result_detail(result);
    let partial = partial_answer::store(deps.payloads(), turn, evidence.partial_answer.as_deref());
    let closed = meter::close(deps, turn, result_report);
    try_join4(result, partial, touch_participant(deps, turn), closed).await.map(|_| ())
}

/// Updates the participant's last activity, which orders a user's list of sessions. The session's first turn wrote it
/// with the session, except in a fork, which exists before its first turn.
pub(crate) async fn touch_participant(deps: &impl Deps, turn: &Turn) -> Result<(), Unavailable> {
    if turn.sequence == 1 && turn.base_depth == 0 {
        return Ok(());
    }
    let participant = Participant {
        session: turn.key.session.clone(),
        user: turn.requested_by.clone(),
        name: None,
        last_activity: turn.created,
    };
    deps.store().touch(&participant).await
}
