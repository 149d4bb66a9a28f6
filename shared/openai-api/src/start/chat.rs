//! Finds the turn that a chat's history ends with, and starts the next one after it.

use contracts::{
    Fingerprint,
    id::{SessionId, TurnId},
    read::StatusReason,
};
use futures::future::try_join_all;
use protocol::session::IdOrigin;
use turns::{
    flow::{DerivedSession, StartConditions},
    refusal::Refusal,
    stream::ResponseStart,
};

use super::{Started, Turns, internal, turn::Start};
use crate::{
    chat::{ChatRequest, History, MAX_EQUAL, Point},
    delivery::refused,
    error::ApiError,
    id::ResponseId,
    request::UserMessage,
    response::Outcome,
};

/// The most branches of a chat in which its last turn is looked for.
const MAX_BRANCHES: usize = 16;

/// Starts the turn of a chat, or finds the one that an earlier try started.
///
/// # Errors
/// If the request is invalid, or its history can't be read.
pub async fn start_chat<T: Turns>(
    turns: &T,
    chat: &ChatRequest,
    message: &UserMessage,
    is_retry: bool,
) -> Result<Started<T::Work>, ApiError> {
    let previous = Finder { start: Start { turns, request: &chat.create, message }, chat }.previous().await?;
    // A history that isn't recognized goes to the model as text.
    let with_transcript = match &previous {
        None if !chat.history.points.is_empty() => {
            let text = format!("{}\n\nUser: {}", chat.history.transcript, message.text);
            Some(UserMessage { text, ..message.clone() })
        }
        _ => None,
    };
    let message = with_transcript.as_ref().unwrap_or(message);
    let finder = Finder { start: Start { turns, request: &chat.create, message }, chat };
    if is_retry && let Some(found) = finder.first_try(previous.as_ref()).await? {
        let conditions = StartConditions { id_origin: IdOrigin::Derived, ..StartConditions::default() };
        return finder.start.run(found, conditions).await;
    }
    finder.begin(previous, !is_retry).await
}

struct Finder<'a, T> {
    start: Start<'a, T>,
    chat: &'a ChatRequest,
}

/// The turn that a history ends with.
struct Previous {
    id: ResponseId,
    is_last: bool,
}

/// The result of a search for a turn in a session.
enum Search {
    /// No session has the id.
    Free,
    /// The session doesn't have the turn.
    Other,
    /// The turn is there.
    Found(Previous),
}

impl<T: Turns> Finder<'_, T> {
    /// Returns the turn of a request, under each key of ids.
    fn turns(&self, hash: &Fingerprint) -> Result<Vec<TurnId>, ApiError> {
        self.start.users().map(|user| History::turn(user, hash).ok_or_else(internal)).collect()
    }

    /// Returns a session of a request, under each key of ids.
    fn sessions(&self, hash: &Fingerprint, ordinal: u32) -> Result<Vec<SessionId>, ApiError> {
        self.start.users().map(|user| History::session(user, hash, ordinal).ok_or_else(internal)).collect()
    }

    /// Finds the turn that the history ends with: one with the same answer, if possible one that is its session's last.
    async fn previous(&self) -> Result<Option<Previous>, ApiError> {
        let points = &self.chat.history.points;
        let Some(last) = points.last() else { return Ok(None) };
        if let Some(response) = &last.response {
            let search = self.check(ResponseId { round: 0, ..response.clone() }, last).await?;
            return Ok(if let Search::Found(previous) = search { Some(previous) } else { None });
        }
        let turns = self.turns(&last.hash)?;
        let (first, branches) =
            points.split_first().map_or((None, points.as_slice()), |(first, rest)| (Some(first), rest));
        // Most chats have one branch, which began with their first request.
        let mut found = self.in_sessions(first.into_iter(), &turns, last).await?;
        if !found.as_ref().is_some_and(|found| found.is_last) {
            let branched = self.in_sessions(branches.iter().rev().take(MAX_BRANCHES), &turns, last).await?;
            found = branched.filter(|branched| branched.is_last || found.is_none()).or(found);
        }
        Ok(found)
    }

    /// Finds the turn in the sessions that began with one of these requests.
    async fn in_sessions<'p>(
        &self,
        roots: impl Iterator<Item = &'p Point>,
        turns: &[TurnId],
        last: &Point,
    ) -> Result<Option<Previous>, ApiError> {
        let roots: Vec<&Point> = roots.collect();
        let mut found: Option<Previous> = None;
        for ordinal in 0..MAX_EQUAL {
            let sessions = roots.iter().map(|root| self.sessions(&root.hash, ordinal));
            let sessions = sessions.collect::<Result<Vec<_>, _>>()?.concat();
            // A turn may be newer than the current key, and its session older.
            let ids = sessions.iter().flat_map(|session| {
                turns.iter().map(|turn| ResponseId::first(session.clone(), turn.clone()))
            });
            let searches = try_join_all(ids.map(|id| self.check(id, last))).await?;
            if searches.iter().all(|search| matches!(search, Search::Free)) {
                break;
            }
            for search in searches {
                match search {
                    Search::Found(hit) if hit.is_last => return Ok(Some(hit)),
                    Search::Found(hit) => found = found.or(Some(hit)),
                    Search::Free | Search::Other => {}
                }
            }
        }
        Ok(found)
    }

    /// Looks for the turn in a session of the caller, with this answer.
    async fn check(&self, id: ResponseId, point: &Point) -> Result<Search, ApiError> {
        let head = match self.start.derived(&id).await? {
            DerivedSession::Free => return Ok(Search::Free),
            DerivedSession::Own(Some(head)) if head.status == StatusReason::Completed => head,
            DerivedSession::Own(_) | DerivedSession::Conflict => return Ok(Search::Other),
        };
        let snapshot = self.start.turns.snapshot(&id).await.map_err(|refusal| refused(&refusal))?;
        let outcome = snapshot.response.map(|response| Outcome::from_body(&response.to_bytes()));
        // A stream may have had more text before the answer, which it couldn't withdraw.
        let is_same = match outcome {
            Some(Outcome::Answer { text, .. }) => point.answer.trim_end().ends_with(text.trim_end()),
            _ => false,
        };
        let id = ResponseId { round: head.round, ..id };
        let found = Previous { id, is_last: head.is_last };
        Ok(if is_same { Search::Found(found) } else { Search::Other })
    }

    /// Finds the turn that an earlier try of the request started.
    async fn first_try(&self, previous: Option<&Previous>) -> Result<Option<ResponseId>, ApiError> {
        let hash = &self.chat.history.hash;
        let turns = self.turns(hash)?;
        if let Some(previous) = previous {
            for turn in &turns {
                let here = ResponseId::first(previous.id.session.clone(), turn.clone());
                if let DerivedSession::Own(Some(_)) = self.start.derived(&here).await? {
                    return Ok(Some(here));
                }
            }
        }
        let mut latest = None;
        for ordinal in 0..MAX_EQUAL {
            let mut is_free = true;
            // The ids of a new session derive from one key.
            for (session, turn) in self.sessions(hash, ordinal)?.into_iter().zip(&turns) {
                let id = ResponseId::first(session, turn.clone());
                let state = self.start.derived(&id).await?;
                is_free &= state == DerivedSession::Free;
                if let DerivedSession::Own(Some(_)) = state {
                    latest = Some(id);
                }
            }
            if is_free {
                break;
            }
        }
        Ok(latest)
    }

    /// Starts the turn after the previous one, beside its successor, or in a new session.
    async fn begin(&self, previous: Option<Previous>, is_new: bool) -> Result<Started<T::Work>, ApiError> {
        let (user, hash) = (self.start.user(), &self.chat.history.hash);
        let turn = History::turn(user, hash).ok_or_else(internal)?;
        let conditions =
            StartConditions { is_new, id_origin: IdOrigin::Derived, ..StartConditions::default() };
        if let Some(Previous { id, is_last: true }) = &previous {
            let conditions = StartConditions { follows: Some(id.turn.clone()), ..conditions.clone() };
            let here = ResponseId::first(id.session.clone(), turn.clone());
            let started = self.start.run(here, conditions).await?;
            let is_taken = matches!(
                started.1,
                ResponseStart::Refused(
                    Refusal::TurnIdConflict
                        | Refusal::SessionIdConflict
                        | Refusal::NotLastTurn
                        | Refusal::SessionBusy { .. }
                )
            );
            if !is_taken {
                return Ok(started);
            }
        }
        for ordinal in 0..MAX_EQUAL {
            let session = History::session(user, hash, ordinal).ok_or_else(internal)?;
            if let Some(started) = self.begin_in(session, &turn, previous.as_ref(), &conditions).await? {
                return Ok(started);
            }
        }
        let session = SessionId::new(self.start.turns.random()).map_err(|_| internal())?;
        self.begin_in(session, &turn, previous.as_ref(), &conditions).await?.ok_or_else(internal)
    }

    /// Starts the turn in a new session. `None` if the ids are in use.
    async fn begin_in(
        &self,
        session: SessionId,
        turn: &TurnId,
        previous: Option<&Previous>,
        conditions: &StartConditions,
    ) -> Result<Option<Started<T::Work>>, ApiError> {
        if let Some(previous) = previous
            && !self.start.fork(&previous.id, &session).await?
        {
            return Ok(None);
        }
        let ids = ResponseId::first(session, turn.clone());
        let started = self.start.run(ids, conditions.clone()).await?;
        let is_in_use =
            matches!(started.1, ResponseStart::Refused(Refusal::TurnIdConflict | Refusal::SessionIdConflict));
        Ok((!is_in_use).then_some(started))
    }
}
