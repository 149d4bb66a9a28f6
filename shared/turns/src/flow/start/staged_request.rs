//! The request, which is stored with or beside the claim of its turn (I10).

use contracts::{error::causes, request::UserTurn};
use futures::future::join;
use protocol::{
    payload::{Kind, Payload},
    transition::begin::Submission,
};

use crate::flow::stored_request::RequestBody;
use crate::ports::{Payloads, Unavailable};

/// A request that a start stores: a small one with the turn, a large one as an object while the first snapshot loads.
///
/// The object is stored under the submission's own id. So if no turn refers to it, nothing else does.
pub(super) struct StagedRequest<'a, P> {
    payloads: &'a P,
    payload: Payload,
    state: State,
}

enum State {
    /// It becomes part of the transaction that starts the turn, so nothing is to remove.
    Inline(String),
    /// The result of storing its object.
    Staged(Result<(), Unavailable>),
    /// It was discarded, or a turn refers to it: nothing to remove.
    Released,
}

impl<'a, P: Payloads> StagedRequest<'a, P> {
    /// Stores a large request. A failure appears when it is committed.
    pub(super) async fn stage(payloads: &'a P, submission: &Submission, request: &UserTurn) -> Self {
        let kind = Kind::Instruction(submission.stored_request());
        let payload = Payload { turn: submission.key.clone(), kind };
        let state = match RequestBody::new(request) {
            RequestBody::Inline(json) => State::Inline(json),
            RequestBody::Object(bytes) => State::Staged(payloads.put(&payload, bytes).await),
        };
        Self { payloads, payload, state }
    }

    /// Checks that a large request is stored, as it must be before the head that points at it is written. Returns a small
    /// one.
    ///
    /// # Errors
    /// If it couldn't be stored, or it was discarded.
    pub(super) fn commit(&mut self) -> Result<Option<String>, Unavailable> {
        if let State::Inline(json) = &self.state {
            return Ok(Some(json.clone()));
        }
        match std::mem::replace(&mut self.state, State::Staged(Ok(()))) {
            State::Staged(stored) => stored.map(|()| None),
            State::Inline(_) | State::Released => {
                Err(Unavailable { what: "the request", source: "it was removed".into() })
            }
        }
    }

    /// Releases the request to the turn that refers to it.
    pub(super) fn release(&mut self) {
        if let State::Staged(_) = self.state {
            self.state = State::Released;
        }
    }

    /// Removes the object, because no turn will refer to it.
    pub(super) async fn discard(&mut self) {
        let is_stored = matches!(self.state, State::Staged(Ok(())));
        self.release();
        if is_stored && let Err(error) = self.payloads.remove(&self.payload).await {
            tracing::warn!(error = %causes(&error), "{}", contracts::log::REQUEST_NOT_DISCARDED);
        }
    }

    /// Runs `work` on a turn that another submission started, and discards the request concurrently.
    pub(super) async fn discard_during<T>(&mut self, work: impl Future<Output = T>) -> T {
        join(work, self.discard()).await.0
    }
}
