//! The start of a turn: in a new session, after a response, or in a conversation.

use contracts::{
    id::{SessionId, TurnId},
    read::StatusReason,
    request::ForkRequest,
};
use openai_api::{
    delivery::refused,
    error::ApiError,
    id::ResponseId,
    request::{CreateResponse, Parent, UserMessage},
    retry::{RequestUser, Seed},
    snapshot,
};
use serde_json::json;
use service::respond::{self, TurnRequest, Work};
use turns::{
    flow::{StartConditions, TurnHead},
    refusal::Refusal,
    stream::ResponseStart,
};

use super::context::Context;

/// A turn to start.
pub(super) struct Start<'a> {
    pub(super) context: &'a Context,
    pub(super) request: &'a CreateResponse,
    pub(super) message: &'a UserMessage,
}

impl Start<'_> {
    /// Returns the user, as far as ids depend on one.
    pub(super) fn user(&self) -> RequestUser<'_> {
        let caller = &self.context.caller;
        RequestUser { org: caller.org.as_str(), user: caller.user.id.as_str() }
    }

    /// Starts the turn of a seed. `is_new` refuses a turn that is there, even of the same request.
    pub(super) async fn with_seed(
        &self,
        seed: &Seed,
        is_new: bool,
    ) -> Result<(ResponseId, ResponseStart<Work>), ApiError> {
        let (own, turn) = ids(seed)?;
        let anywhere = StartConditions { is_new, ..StartConditions::default() };
        match &self.request.parent {
            Parent::None => self.run(ResponseId::first(own, turn), anywhere).await,
            Parent::Conversation(session) => {
                self.run(ResponseId::first(session.clone(), turn), anywhere).await
            }
            Parent::Response(previous) => {
                let head = self.continuable(previous).await?;
                let in_session = ResponseId::first(previous.session.clone(), turn.clone());
                // A repeated request finds its turn where the first one started it.
                let exists = !is_new && self.head(&in_session).await?.is_some();
                if exists {
                    return self.run(in_session, anywhere).await;
                }
                if head.is_last {
                    let follows = Some(previous.turn.clone());
                    let follows = StartConditions { is_new, follows, ..StartConditions::default() };
                    let started = self.run(in_session, follows).await?;
                    // Another turn was faster: this one goes on from the same response beside it.
                    let is_late = matches!(
                        started.1,
                        ResponseStart::Refused(Refusal::NotLastTurn | Refusal::SessionBusy { .. })
                    );
                    if !is_late {
                        return Ok(started);
                    }
                }
                if !self.fork(previous, &own).await? {
                    return Ok((
                        ResponseId::first(own, turn),
                        ResponseStart::Refused(Refusal::TurnIdConflict),
                    ));
                }
                self.run(ResponseId::first(own, turn), anywhere).await
            }
        }
    }

    /// True if the turn of a seed is there.
    pub(super) async fn exists(&self, seed: &Seed) -> Result<bool, ApiError> {
        let (own, turn) = ids(seed)?;
        let session = match &self.request.parent {
            Parent::None => own,
            Parent::Conversation(session) => session.clone(),
            Parent::Response(previous) => {
                let in_session = ResponseId::first(previous.session.clone(), turn.clone());
                if self.head(&in_session).await?.is_some() {
                    return Ok(true);
                }
                own
            }
        };
        Ok(self.head(&ResponseId::first(session, turn)).await?.is_some())
    }

    pub(super) async fn head(&self, id: &ResponseId) -> Result<Option<TurnHead>, ApiError> {
        let Context { app, caller, .. } = self.context;
        let head = app.reader.turn_head(caller, id.session.clone(), id.turn.clone()).await;
        head.map_err(|refusal| refused(&refusal))
    }

    /// Returns the head of the turn to go on from.
    async fn continuable(&self, previous: &ResponseId) -> Result<TurnHead, ApiError> {
        let head = self.head(previous).await?;
        let head = head.filter(|head| !head.is_deleted && previous.round <= head.round);
        let head = head.ok_or_else(|| ApiError::previous_not_found(&previous.to_string()))?;
        let param = "previous_response_id";
        if previous.round < head.round || head.status == StatusReason::WaitingForTools {
            let message = "No tool output found for the function calls of the previous response.";
            return Err(ApiError::invalid("input", "invalid_value", message));
        }
        match head.status {
            StatusReason::Completed => Ok(head),
            StatusReason::Running => {
                let error = ApiError::value(param, "names a response that is still in progress");
                Err(ApiError { status: 409, retry: Some(true), ..error })
            }
            _ => Err(ApiError::value(param, "names a response that has no answer")),
        }
    }

    /// Forks the session of a response. False if the new session's id is in use.
    pub(super) async fn fork(&self, previous: &ResponseId, own: &SessionId) -> Result<bool, ApiError> {
        // An invalid input leaves no session behind.
        self.request.user_turn(previous, self.message)?;
        let Context { app, caller, .. } = self.context;
        let body = json!({"SessionId": own.as_str(), "TurnId": previous.turn.as_str()});
        let request = ForkRequest::parse(body.to_string().as_bytes());
        let request = request.map_err(|_| ApiError::previous_not_found(&previous.to_string()))?;
        let forked = app.forker.fork(caller, previous.session.clone(), &request).await;
        match forked {
            Ok(()) => Ok(true),
            Err(Refusal::SessionIdConflict) => Ok(false),
            Err(refusal) => Err(refused(&refusal)),
        }
    }

    /// Returns the response with which a turn was suspended.
    async fn suspended(&self, ids: &ResponseId) -> Result<ResponseStart<Work>, ApiError> {
        let Context { app, caller, .. } = self.context;
        let snapshot = app.reader.turn_snapshot(caller, ids.session.clone(), ids.turn.clone()).await;
        let snapshot = snapshot.map_err(|refusal| refused(&refusal))?;
        let response = snapshot::suspended_response(ids, &snapshot);
        response.map(ResponseStart::Complete).ok_or_else(|| ApiError::response_not_found(&ids.to_string()))
    }

    /// Starts the turn with these ids.
    pub(super) async fn run(
        &self,
        ids: ResponseId,
        conditions: StartConditions,
    ) -> Result<(ResponseId, ResponseStart<Work>), ApiError> {
        let turn = self.request.user_turn(&ids, self.message)?;
        runtime::record_turn(&ids.session, &ids.turn);
        let Context { app, caller, correlation, budget, rate_limits, .. } = self.context.clone();
        let is_new = conditions.is_new;
        let conditions = StartConditions { rate_limits, ..conditions };
        let request = TurnRequest::Conditional(Box::new(turn), conditions);
        let started = respond::start(&app, caller, correlation.0, request, None, budget);
        if is_new {
            return Ok((ids, started.await));
        }
        // The turn may have gone on after this response: a repeated request gets the calls that it got before.
        let (head, started) = futures::join!(self.head(&ids), started);
        let started = match head? {
            Some(head) if head.round > ids.round => self.suspended(&ids).await?,
            _ => started,
        };
        Ok((ids, started))
    }
}

fn ids(seed: &Seed) -> Result<(SessionId, TurnId), ApiError> {
    let ids = seed.session().zip(seed.turn());
    ids.ok_or_else(|| contracts::Error::from(contracts::ErrorCode::Internal).into())
}
