//! Finds the turn that a chat's history ends with, and starts the next one after it.

use contracts::{
    Fingerprint,
    id::{SessionId, TurnId},
    read::StatusReason,
};
use futures::future::try_join_all;
use openai_api::{
    chat::{ChatRequest, History, MAX_EQUAL, Point},
    delivery::refused,
    error::ApiError,
    id::ResponseId,
    request::UserMessage,
    response::Outcome,
};
use service::respond::Work;
use turns::{flow::StartConditions, refusal::Refusal, stream::ResponseStart};

use super::{context::Context, start::Start};

/// The most branches of a chat in which its last turn is looked for.
const MAX_BRANCHES: usize = 16;

type Started = (ResponseId, ResponseStart<Work>);

/// Starts the turn of a chat, or finds the one that an earlier try started.
pub(super) async fn start(
    context: &Context,
    chat: &ChatRequest,
    message: &UserMessage,
    is_retry: bool,
) -> Result<Started, ApiError> {
    let previous =
        Finder { start: Start { context, request: &chat.create, message }, chat }.previous().await?;
    // A history that isn't recognized goes to the model as text.
    let with_transcript = match &previous {
        None if !chat.history.points.is_empty() => {
            let text = format!("{}\n\nUser: {}", chat.history.transcript, message.text);
            Some(UserMessage { text, ..message.clone() })
        }
        _ => None,
    };
    let message = with_transcript.as_ref().unwrap_or(message);
    let finder = Finder { start: Start { context, request: &chat.create, message }, chat };
    if is_retry && let Some(found) = finder.first_try(previous.as_ref()).await? {
        return finder.start.run(found, StartConditions::default()).await;
    }
    finder.begin(previous).await
}

struct Finder<'a> {
    start: Start<'a>,
    chat: &'a ChatRequest,
}

/// The turn that a history ends with.
struct Previous {
    id: ResponseId,
    is_last: bool,
}

impl Finder<'_> {
    fn turn(&self, hash: &Fingerprint) -> Result<TurnId, ApiError> {
        History::turn(self.start.user(), hash).ok_or_else(internal)
    }

    fn session(&self, hash: &Fingerprint, ordinal: u32) -> Result<SessionId, ApiError> {
        History::session(self.start.user(), hash, ordinal).ok_or_else(internal)
    }

    /// Finds the turn that the history ends with: one with the same answer, if possible one that is its session's last.
    async fn previous(&self) -> Result<Option<Previous>, ApiError> {
        let points = &self.chat.history.points;
        let Some(last) = points.last() else { return Ok(None) };
        if let Some(response) = &last.response {
            return self.check(ResponseId { round: 0, ..response.clone() }, last).await;
        }
        let turn = self.turn(&last.hash)?;
        let (first, branches) =
            points.split_first().map_or((None, points.as_slice()), |(first, rest)| (Some(first), rest));
        // Most chats have one branch, which began with their first request.
        let mut found = self.in_sessions(first.into_iter(), &turn, last).await?;
        if !found.as_ref().is_some_and(|found| found.is_last) {
            let branched = self.in_sessions(branches.iter().rev().take(MAX_BRANCHES), &turn, last).await?;
            found = branched.filter(|branched| branched.is_last || found.is_none()).or(found);
        }
        Ok(found)
    }

    /// Finds the turn in the sessions that began with one of these requests.
    async fn in_sessions<'p>(
        &self,
        roots: impl Iterator<Item = &'p Point>,
        turn: &TurnId,
        last: &Point,
    ) -> Result<Option<Previous>, ApiError> {
        let roots: Vec<&Point> = roots.collect();
        let mut found: Option<Previous> = None;
        for ordinal in 0..MAX_EQUAL {
            let sessions = roots.iter().map(|root| self.session(&root.hash, ordinal));
            let sessions = sessions.collect::<Result<Vec<_>, _>>()?;
            let checked = sessions
                .into_iter()
                .map(|session| self.check(ResponseId::first(session, turn.clone()), last));
            let hits: Vec<Previous> = try_join_all(checked).await?.into_iter().flatten().collect();
            if hits.is_empty() {
                break;
            }
            for hit in hits {
                if hit.is_last {
                    return Ok(Some(hit));
                }
                found = found.or(Some(hit));
            }
        }
        Ok(found)
    }

    /// Returns the turn if it is there, and has this answer.
    async fn check(&self, id: ResponseId, point: &Point) -> Result<Option<Previous>, ApiError> {
        let head = self.start.head(&id).await?;
        let Some(head) = head.filter(|head| !head.is_deleted && head.status == StatusReason::Completed)
        else {
            return Ok(None);
        };
        let Context { app, caller, .. } = self.start.context;
        let snapshot = app.reader.turn_snapshot(caller, id.session.clone(), id.turn.clone()).await;
        let snapshot = snapshot.map_err(|refusal| refused(&refusal))?;
        let outcome = snapshot.response.map(|response| Outcome::from_body(&response.to_bytes()));
        // A stream may have had more text before the answer, which it couldn't withdraw.
        let is_same = match outcome {
            Some(Outcome::Answer { text, .. }) => point.answer.trim_end().ends_with(text.trim_end()),
            _ => false,
        };
        let id = ResponseId { round: head.round, ..id };
        Ok(is_same.then_some(Previous { id, is_last: head.is_last }))
    }

    /// Finds the turn that an earlier try of the request started.
    async fn first_try(&self, previous: Option<&Previous>) -> Result<Option<ResponseId>, ApiError> {
        let hash = &self.chat.history.hash;
        let turn = self.turn(hash)?;
        if let Some(previous) = previous {
            let here = ResponseId::first(previous.id.session.clone(), turn.clone());
            if self.start.head(&here).await?.is_some() {
                return Ok(Some(here));
            }
        }
        let mut latest = None;
        for ordinal in 0..MAX_EQUAL {
            let id = ResponseId::first(self.session(hash, ordinal)?, turn.clone());
            if self.start.head(&id).await?.is_none() {
                break;
            }
            latest = Some(id);
        }
        Ok(latest)
    }

    /// Starts the turn after the previous one, beside its successor, or in a new session.
    async fn begin(&self, previous: Option<Previous>) -> Result<Started, ApiError> {
        let hash = &self.chat.history.hash;
        let turn = self.turn(hash)?;
        if let Some(Previous { id, is_last: true }) = &previous {
            let follows = Some(id.turn.clone());
            let conditions = StartConditions { is_new: true, follows, ..StartConditions::default() };
            let here = ResponseId::first(id.session.clone(), turn.clone());
            let started = self.start.run(here, conditions).await?;
            let is_taken = matches!(
                started.1,
                ResponseStart::Refused(
                    Refusal::TurnIdConflict | Refusal::NotLastTurn | Refusal::SessionBusy { .. }
                )
            );
            if !is_taken {
                return Ok(started);
            }
        }
        for ordinal in 0..MAX_EQUAL {
            let session = self.session(hash, ordinal)?;
            if let Some(started) = self.begin_in(session, &turn, previous.as_ref()).await? {
                return Ok(started);
            }
        }
        let session = SessionId::new(uuid::Uuid::new_v4().simple().to_string()).map_err(|_| internal())?;
        self.begin_in(session, &turn, previous.as_ref()).await?.ok_or_else(internal)
    }

    /// Starts the turn in a new session. None if the session is in use.
    async fn begin_in(
        &self,
        session: SessionId,
        turn: &TurnId,
        previous: Option<&Previous>,
    ) -> Result<Option<Started>, ApiError> {
        if let Some(previous) = previous
            && !self.start.fork(&previous.id, &session).await?
        {
            return Ok(None);
        }
        let conditions = StartConditions { is_new: true, ..StartConditions::default() };
        let started = self.start.run(ResponseId::first(session, turn.clone()), conditions).await?;
        let is_taken =
            matches!(started.1, ResponseStart::Refused(Refusal::TurnIdConflict | Refusal::SessionDeleted));
        Ok((!is_taken).then_some(started))
    }
}

fn internal() -> ApiError {
    contracts::Error::from(contracts::ErrorCode::Internal).into()
}
