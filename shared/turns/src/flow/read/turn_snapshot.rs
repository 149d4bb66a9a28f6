//! Reads a turn with what an API needs that shows it in another form: its request, its suspensions and its response.

use agent::{outcome::Response, tool::rounds::Round};
use contracts::{
    Timestamp,
    id::{SessionId, TurnId},
    read::{RanBy, StatusReason, StepKind},
    request::UserTurn,
    response::{ToolCall, ToolResult},
};
use futures::future::try_join3;
use protocol::{
    Caller,
    id::SessionKey,
    session::{IdOrigin, Session},
    turn::{State, Turn},
};

use crate::flow::{
    access,
    finish::replay,
    read::{session_reader::SessionReader, turn_history},
    stored_request,
};
use crate::{
    ports::{PayloadReads, Reads},
    refusal::Refusal,
    view,
};

/// The place of a turn in its session, and its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnHead {
    /// True if it is the session's last turn.
    pub is_last: bool,
    /// The number of turns of the session.
    pub turns: u64,
    /// The status.
    pub status: StatusReason,
    /// The number of suspensions before its current or last work.
    pub round: u32,
    /// True if the session is deleted.
    pub is_deleted: bool,
}

impl TurnHead {
    fn new(session: &Session, turn: &Turn) -> Self {
        Self {
            is_last: session.last_turn.as_ref().is_some_and(|last| last.id == turn.key.turn),
            turns: session.turn_count,
            status: view::reason(turn),
            round: turn.round(),
            is_deleted: session.deleted.is_some(),
        }
    }
}

/// The state of a session whose id the service derived from a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DerivedSession {
    /// There is none.
    Free,
    /// A session has the id that isn't the caller's own, or was deleted.
    Conflict,
    /// The caller's own. Contains the head of the caller's turn, if it is there.
    Own(Option<TurnHead>),
}

/// A turn with its request and its response so far.
#[derive(Debug, Clone)]
pub struct TurnSnapshot {
    /// Its place and status.
    pub head: TurnHead,
    /// The time at which it was accepted.
    pub created: Timestamp,
    /// The time at which it ended.
    pub settled: Option<Timestamp>,
    /// The request that started it.
    pub request: UserTurn,
    /// The model that was asked.
    pub model: String,
    /// The response, unless it is running.
    pub response: Option<Response>,
    /// Its suspensions, oldest first.
    pub suspensions: Vec<Suspension>,
    /// The text of an answer that ended early.
    pub partial_answer: Option<String>,
}

impl TurnSnapshot {
    /// Returns the suspension with this number, from 0. None if there is none, or it isn't stored any more.
    #[must_use]
    pub fn suspension(&self, number: u32) -> Option<&Suspension> {
        let open = u32::from(self.head.status == StatusReason::WaitingForTools);
        let later = usize::try_from(self.head.round.saturating_add(open).checked_sub(number)?).ok()?;
        self.suspensions.get(self.suspensions.len().checked_sub(later)?)
    }
}

/// A reply that called the client's tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspension {
    /// The text beside the calls.
    pub text: String,
    /// The client's calls.
    pub calls: Vec<ToolCall>,
    /// Their results; empty until they arrive.
    pub results: Vec<ToolResult>,
}

impl<R: Reads, P: PayloadReads> SessionReader<R, P> {
    /// Reads the head of a turn. None if this caller has no such turn.
    ///
    /// # Errors
    /// If the store can't be read.
    pub async fn turn_head(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
    ) -> Result<Option<TurnHead>, Refusal> {
        let key = SessionKey { org: caller.org.clone(), session }.turn(turn);
        let (session, turn) = match access::load_turn(&self.store, caller, &key).await {
            Ok(found) => found,
            Err(Refusal::TurnNotFound) => return Ok(None),
            Err(refusal) => return Err(refusal),
        };
        Ok(Some(TurnHead::new(&session, &turn)))
    }

    /// Reads the state of a session and a turn whose ids the service derived from a request of the caller.
    ///
    /// # Errors
    /// If the store can't be read.
    pub async fn derived_session(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
    ) -> Result<DerivedSession, Refusal> {
        let key = SessionKey { org: caller.org.clone(), session }.turn(turn);
        let (session, turn) = self.store.session_and_turn(&key).await?;
        if !IdOrigin::Derived.admits(session.as_ref(), &caller.user.id) {
            return Ok(DerivedSession::Conflict);
        }
        let Some(session) = session else { return Ok(DerivedSession::Free) };
        let turn = turn.filter(|turn| turn.requested_by == caller.user.id);
        Ok(DerivedSession::Own(turn.map(|turn| TurnHead::new(&session, &turn))))
    }

    /// Reads the session's last turn. None if this caller has no such session, or it has no turns.
    ///
    /// # Errors
    /// If the store can't be read.
    pub async fn last_turn_id(&self, caller: &Caller, session: SessionId) -> Result<Option<TurnId>, Refusal> {
        let key = SessionKey { org: caller.org.clone(), session };
        let session = self.store.session(&key).await?;
        let session = self.visible(caller, &key, session).await?;
        Ok(session.and_then(|session| session.last_turn).map(|last| last.id))
    }

    /// Reads a turn with its request and its response so far.
    ///
    /// # Errors
    /// If this caller has no such turn.
    pub async fn turn_snapshot(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
    ) -> Result<TurnSnapshot, Refusal> {
        // The head is that of the record: a later one may have a suspension whose calls the history below doesn't have.
        let (session, record) = self.visible_session_and_record(caller, session, turn).await?;
        let head = TurnHead::new(&session, &record.turn);
        let (request, response, history) = try_join3(
            stored_request::load(&self.store, &self.payloads, &record.turn),
            replay::response(&self.payloads, &record.turn),
            // Boxed: the history's future is large.
            Box::pin(turn_history::load(&self.store, &self.payloads, &record.turn)),
        )
        .await?;
        let waits = matches!(record.turn.state, State::AwaitingTools { .. });
        let suspensions = history.rounds.iter().filter_map(|round| suspension(round, waits)).collect();
        let partial = history.last.filter(|last| last.kind == StepKind::PartialAnswer);
        Ok(TurnSnapshot {
            head,
            created: record.turn.created,
            settled: record.turn.settlement().map(|settlement| settlement.at),
            request,
            model: record.request.upstream.model.clone(),
            response,
            suspensions,
            partial_answer: partial.map(|last| last.text),
        })
    }
}

/// Returns a round as a suspension; none if the server ran all of its calls.
fn suspension(round: &Round, waits: bool) -> Option<Suspension> {
    let of_client = |ran_by: Option<RanBy>, is_open: bool| ran_by == Some(RanBy::Client) || is_open && waits;
    let calls = round.calls.iter().filter(|call| of_client(call.ran_by, call.outcome.is_none()));
    let (mut asked, mut results) = (Vec::new(), Vec::new());
    for call in calls {
        asked.push(ToolCall {
            tool_call_id: call.call_id.clone(),
            name: call.name.clone(),
            arguments_json: call.arguments.clone(),
        });
        results.extend(call.outcome.clone().map(|outcome| ToolResult {
            tool_call_id: call.call_id.clone(),
            execution_ms: call.execution_ms.unwrap_or_default(),
            outcome,
        }));
    }
    (!asked.is_empty()).then(|| Suspension { text: round.message.text.clone(), calls: asked, results })
}
