//! The request object, which is stored beside the claim of its turn (I10).

use bytes::Bytes;
use contracts::{error::causes, request::UserTurn};
use futures::future::join;
use protocol::{
    payload::{Kind, Payload},
    transition::begin::Submission,
};

use crate::ports::{Payloads, Unavailable};

/// A request that is stored while the first snapshot loads.
///
/// It is stored under the submission's own id. So if no turn refers to it, nothing else does.
pub(super) struct StagedRequest<'a, P> {
    payloads: &'a P,
    payload: Payload,
    state: State,
}

enum State {
    /// The result of storing it.
    Staged(Result<(), Unavailable>),
    /// It was discarded, or a turn refers to it: nothing to remove.
    Released,
}

impl<'a, P: Payloads> StagedRequest<'a, P> {
    /// Stores the request. A failure appears when it is committed.
    pub(super) async fn stage(payloads: &'a P, submission: &Submission, request: &UserTurn) -> Self {
        let kind = Kind::Instruction(submission.stored_request());
        let payload = Payload { turn: submission.key.clone(), kind };
        let stored = payloads.put(&payload, Bytes::from(request.canonical_json())).await;
        Self { payloads, payload, state: State::Staged(stored) }
    }

    /// Checks that the request is stored, as it must be before the head that points at it is written.
    ///
    /// # Errors
    /// If it couldn't be stored, or it was discarded.
    pub(super) fn commit(&mut self) -> Result<(), Unavailable> {
        match std::mem::replace(&mut self.state, State::Staged(Ok(()))) {
            State::Staged(stored) => stored,
            State::Released => Err(Unavailable { what: "the request", source: "it was removed".into() }),
        }
    }

    /// Releases the request to the turn that refers to it.
    pub(super) fn release(&mut self) {
        self.state = State::Released;
    }

    /// Removes the request, because no turn will refer to it.
    pub(super) async fn discard(&mut self) {
        if let State::Staged(Ok(())) = std::mem::replace(&mut self.state, State::Released)
            && let Err(error) = self.payloads.remove(&self.payload).await
        {
            tracing::warn!(error = %causes(&error), "{}", contracts::log::REQUEST_NOT_DISCARDED);
        }
    }

    /// Runs `work` on a turn that another submission started, and discards the request concurrently.
    pub(super) async fn discard_during<T>(&mut self, work: impl Future<Output = T>) -> T {
        join(work, self.discard()).await.0
    }
}
