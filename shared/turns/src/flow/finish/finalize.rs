//! Finalizes turns: stores the objects of a settled turn that don't exist yet, then makes its head terminal. Objects come
//! first, so whatever a terminal head refers to exists (I10).

use futures::future::try_join;
use protocol::{
    detail::{Report, RequestDetail},
    id::TurnKey,
    session::Session,
    transition::finalize::finalize,
    turn::{State, Turn},
};

use crate::flow::{
    finish::{evidence::TurnEvidence, partial_answer, turn_event},
    meter, stored_request,
    write::{self, WriteOutcome},
};
use crate::ports::{Deps, Reads, Unavailable};

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
            let (session, turn, request) = store.session_and_record(key).await?;
            let (Some(session), Some(turn)) = (session, turn) else {
                return Ok(false);
            };
            let State::Settled(_) = turn.state else {
                return Ok(false);
            };
            if self.try_finalize(&session, &turn, request.as_ref()).await? {
                return Ok(true);
            }
        }
        Err(Unavailable { what: "the session", source: "it stayed contended".into() })
    }

    /// Tries once: writes what a terminal turn refers to, then the transaction that makes it terminal.
    async fn try_finalize(
        &self,
        session: &Session,
        turn: &Turn,
        request: Option<&RequestDetail>,
    ) -> Result<bool, Unavailable> {
        let (store, payloads) = (self.deps.store(), self.deps.payloads());
        let object = stored_request::payload(turn);
        let published = stored_request::publish(payloads, &object, request);
        let (evidence, ()) = try_join(TurnEvidence::load(store, payloads, turn), published).await?;
        let Ok(finalized) = finalize(session, turn, evidence.summary().as_ref()) else {
            return Ok(false);
        };
        publish_evidence(&self.deps, turn, &evidence, &finalized.result.report).await?;
        let written = write::commit(&self.deps, &finalized.clone().commit(session)).await?;
        let applied = matches!(written, WriteOutcome::Applied);
        if applied {
            turn_event::log_terminal(&finalized, evidence.outcome());
        }
        Ok(applied)
    }
}

/// Stores the partial answer of a settled turn, and counts its usage in its meters. A settlement is irrevocable, so any
/// number of writers do the same. The client's response doesn't wait for this.
pub(crate) async fn publish_evidence(
    deps: &impl Deps,
    turn: &Turn,
    evidence: &TurnEvidence,
    report: &Report,
) -> Result<(), Unavailable> {
    let partial = partial_answer::store(deps.payloads(), turn, evidence.partial_answer.as_deref());
    try_join(partial, meter::close(deps, turn, report)).await.map(|_| ())
}
