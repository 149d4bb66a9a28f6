//! The start of a turn: in a new session, after a response, or in a conversation.

use contracts::{
    id::{SessionId, TurnId},
    read::StatusReason,
    request::{ForkRequest, UserMessage},
};
use protocol::session::IdOrigin;
use runtime::id_key::IdKey;
use turns::{
    flow::{DerivedSession, DerivedTurn, StartConditions, StartRead, TurnHead},
    refusal::Refusal,
    stream::ResponseStart,
};

use super::{Started, Turns, internal};
use crate::{
    error::{ApiError, refused},
    id::ResponseId,
    request::{CreateResponse, Parent},
    retry::{RequestUser, Seed},
    snapshot,
};

/// A turn to start.
pub(super) struct Start<'a, T> {
    pub(super) turns: &'a T,
    pub(super) request: &'a CreateResponse,
    pub(super) message: &'a UserMessage,
}

impl<T: Turns> Start<'_, T> {
    /// Returns the user, as far as ids depend on one, with the key of new ids.
    pub(super) fn user(&self) -> RequestUser<'_> {
        self.user_with(&self.turns.id_keys().current)
    }

    /// Returns the user with each key of ids, the key for new ids first.
    pub(super) fn users(&self) -> impl Iterator<Item = RequestUser<'_>> {
        self.turns.id_keys().iter().map(|key| self.user_with(key))
    }

    fn user_with<'k>(&'k self, key: &'k IdKey) -> RequestUser<'k> {
        let caller = self.turns.caller();
        RequestUser { key, org: caller.org.as_str(), user: caller.user.id.as_str() }
    }

    /// Starts the turn of a seed. `is_new` refuses a turn that is there, even of the same request. A session under the
    /// seed's id that isn't the caller's own, or was deleted, is a conflict of session ids.
    pub(super) async fn with_seed(&self, seed: &Seed, is_new: bool) -> Result<Started<T::Work>, ApiError> {
        let (own, turn) = ids(seed)?;
        let anywhere = StartConditions { is_new, ..StartConditions::default() };
        let in_own = StartConditions { id_origin: IdOrigin::Derived, ..anywhere.clone() };
        match &self.request.parent {
            Parent::None => self.run(ResponseId::first(own, turn), in_own).await,
            Parent::Conversation(session) => {
                self.run(ResponseId::first(session.clone(), turn), anywhere).await
            }
            Parent::Response(previous) => {
                let in_session = ResponseId::first(previous.session.clone(), turn.clone());
                let (head, read) = self.continuable(previous, &in_session).await?;
                // A repeated request finds its turn where the first one started it.
                let exists = !is_new && self.head(&in_session).await?.is_some();
                if exists {
                    return self.run(in_session, anywhere).await;
                }
                // A turn that isn't stored has a session of its own, which is purged after it.
                if head.is_last && !self.request.options.unstored {
                    let follows = Some(previous.turn.clone());
                    let follows = StartConditions { is_new, follows, read, ..StartConditions::default() };
                    let started = self.run(in_session, follows).await?;
                    // Another turn was faster. This turn continues from the same response, in a fork.
                    let is_late = matches!(
                        started.1,
                        ResponseStart::Refused(Refusal::NotLastTurn | Refusal::SessionBusy { .. })
                    );
                    if !is_late {
                        return Ok(started);
                    }
                }
                let is_forked = self.fork(previous, &own).await?;
                let ids = ResponseId::first(own, turn);
                if !is_forked {
                    return Ok((ids, ResponseStart::Refused(Refusal::SessionIdConflict)));
                }
                self.run(ids, in_own).await
            }
        }
    }

    /// Looks for the turn of a seed: in the session that the request names, and in the seed's own.
    pub(super) async fn find(&self, seed: &Seed) -> Result<DerivedSession, ApiError> {
        let (own, turn) = ids(seed)?;
        let named = match &self.request.parent {
            Parent::None => None,
            Parent::Conversation(session) => Some(session),
            Parent::Response(previous) => Some(&previous.session),
        };
        if let Some(session) = named {
            let head = self.head(&ResponseId::first(session.clone(), turn.clone())).await?;
            if head.is_some() {
                return Ok(DerivedSession::Own(head));
            }
        }
        self.derived(&ResponseId::first(own, turn)).await
    }

    /// Reads the state of a session and a turn with derived ids.
    pub(super) async fn derived(&self, ids: &ResponseId) -> Result<DerivedSession, ApiError> {
        self.turns.derived(&ids.clone().into()).await.map_err(|refusal| refused(&refusal))
    }

    pub(super) async fn head(&self, id: &ResponseId) -> Result<Option<TurnHead>, ApiError> {
        self.turns.head(&id.clone().into()).await.map_err(|refusal| refused(&refusal))
    }

    /// Returns the head of the turn to continue from. In a session of the caller, also the read for the start of the next
    /// turn, which is a part of the same request.
    async fn continuable(
        &self,
        previous: &ResponseId,
        next: &ResponseId,
    ) -> Result<(TurnHead, Option<Box<StartRead>>), ApiError> {
        let ids = [ResponseId { round: 0, ..previous.clone() }.into(), next.clone().into()];
        let found = self.turns.derived_all(&ids).await.map_err(|refusal| refused(&refusal))?;
        let (head, read) = match found.as_slice() {
            [DerivedTurn { state: DerivedSession::Own(Some(head)), .. }, next] => {
                (Some(*head), next.start_read())
            }
            // Another user's, which the caller may see.
            _ => (self.head(previous).await?, None),
        };
        let is_stored = |head: &TurnHead| !head.is_deleted && !head.is_unstored;
        let head = head.filter(|head| is_stored(head) && previous.round <= head.round);
        let head = head.ok_or_else(|| ApiError::previous_not_found(&previous.to_string()))?;
        let param = "previous_response_id";
        if previous.round < head.round || head.status == StatusReason::WaitingForTools {
            let message = "No tool output found for the function calls of the previous response.";
            return Err(ApiError::invalid("input", "invalid_value", message));
        }
        match head.status {
            StatusReason::Completed => Ok((head, read)),
            StatusReason::Running => {
                let error = ApiError::value(param, "names a response that is still in progress");
                Err(ApiError { status: 409, retry: Some(true), ..error })
            }
            _ => Err(ApiError::value(param, "names a response that has no answer")),
        }
    }

    /// Forks the session of a response into one with a derived id. False if another session has that id.
    pub(super) async fn fork(&self, previous: &ResponseId, own: &SessionId) -> Result<bool, ApiError> {
        // An invalid input leaves no session behind.
        self.request.user_turn(previous, self.message)?;
        let request = ForkRequest::new(own.clone(), previous.turn.clone());
        let forked = self.turns.fork(&previous.session, &request).await;
        match forked {
            Ok(()) => Ok(true),
            Err(Refusal::SessionIdConflict) => Ok(false),
            Err(refusal) => Err(refused(&refusal)),
        }
    }

    /// Returns the response with which a turn was suspended.
    async fn suspended(&self, ids: &ResponseId) -> Result<ResponseStart<T::Work>, ApiError> {
        let snapshot = self.turns.snapshot(&ids.clone().into()).await.map_err(|refusal| refused(&refusal))?;
        let response = snapshot::suspended_response(ids, &snapshot);
        response.map(ResponseStart::Complete).ok_or_else(|| ApiError::response_not_found(&ids.to_string()))
    }

    /// Starts the turn with these ids.
    pub(super) async fn run(
        &self,
        ids: ResponseId,
        conditions: StartConditions,
    ) -> Result<Started<T::Work>, ApiError> {
        let turn = self.request.user_turn(&ids, self.message)?;
        let is_new = conditions.is_new;
        let started = self.turns.start(turn, conditions);
        if is_new {
            return Ok((ids, started.await));
        }
        // The turn may have continued after this response. A repeated request gets the same calls as before.
        let (head, started) = futures::join!(self.head(&ids), started);
        let started = match head? {
            Some(head) if head.round > ids.round => self.suspended(&ids).await?,
            _ => started,
        };
        Ok((ids, started))
    }
}

fn ids(seed: &Seed) -> Result<(SessionId, TurnId), ApiError> {
    seed.session().zip(seed.turn()).ok_or_else(internal)
}
