//! Reads a turn with what an API needs that shows it in another form: its request, its suspensions and its response.

use agent::{outcome::Response, tool::rounds::Round};
use contracts::{
    Fingerprint, Timestamp,
    id::{SessionId, TurnId},
    read::{RanBy, StatusReason, StepKind},
    request::UserTurn,
    response::{ToolCall, ToolResult},
};
use futures::future::{ready, try_join4};
use protocol::{
    Caller,
    id::{SessionKey, TurnKey},
    session::{IdOrigin, Session},
    transition::begin::Snapshot as StartRead,
    turn::{State, Turn},
};

use crate::flow::{
    access,
    finish::replay,
    read::{session_reader::SessionReader, turn_history},
    stored_request,
};
use crate::{
    ports::{FoundTurn, PayloadReads, Reads, Unavailable},
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
    /// True if the session is a fork, whose history began in another one.
    pub is_fork: bool,
    /// The status.
    pub status: StatusReason,
    /// The number of suspensions before its current or last work.
    pub round: u32,
    /// True if the session is deleted.
    pub is_deleted: bool,
    /// True if its content is removed once it is final, so that no turn continues from it.
    pub is_unstored: bool,
}

impl TurnHead {
    fn new(session: &Session, turn: &Turn) -> Self {
        Self {
            is_last: session.last_turn.as_ref().is_some_and(|last| last.id == turn.key.turn),
            turns: session.turn_count,
            is_fork: session.forked_from.is_some(),
            status: view::reason(turn),
            round: turn.round(),
            is_deleted: session.deleted.is_some(),
            is_unstored: turn.is_unstored,
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

/// A session and a turn whose ids the service derived from a request, as one read found them.
#[derive(Debug, Clone)]
pub struct DerivedTurn {
    /// The state of the session.
    pub state: DerivedSession,
    /// The caller's own session, and the turn.
    found: FoundTurn,
}

impl DerivedTurn {
    /// The state of ids under which nothing is stored.
    pub const FREE: Self = Self { state: DerivedSession::Free, found: (None, None) };

    fn new(caller: &Caller, (session, turn): FoundTurn) -> Self {
        if !IdOrigin::Derived.admits(session.as_ref(), &caller.user.id) {
            return Self { state: DerivedSession::Conflict, found: (None, None) };
        }
        let Some(session) = session else { return Self::FREE };
        let turn = turn.filter(|turn| turn.requested_by == caller.user.id);
        let head = turn.as_ref().map(|turn| TurnHead::new(&session, turn));
        Self { state: DerivedSession::Own(head), found: (Some(session), turn) }
    }

    /// Returns the [words](Fingerprint::hash_words) of the answer, if it is the turn's only reply and other turns may continue
    /// from it.
    #[must_use]
    pub fn only_answer(&self) -> Option<Fingerprint> {
        let turn = self.found.1.as_ref()?;
        let DerivedSession::Own(Some(head)) = &self.state else { return None };
        let is_open = head.status == StatusReason::Completed && !head.is_deleted && !head.is_unstored;
        turn.answer.filter(|_| is_open && head.round == 0)
    }

    /// Returns the read for a start of the turn. None if the session doesn't exist.
    #[must_use]
    pub fn start_read(&self) -> Option<Box<StartRead>> {
        let (session, turn) = &self.found;
        let read = || StartRead { session: session.clone(), turn: turn.clone(), open: None };
        session.is_some().then(|| Box::new(read()))
    }
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
    /// The user's text that came with the results.
    pub message: Option<String>,
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

    /// Reads sessions and turns whose ids the service derived from a request of the caller, in their order.
    ///
    /// # Errors
    /// If the store can't be read.
    pub async fn derived_sessions(
        &self,
        caller: &Caller,
        ids: impl IntoIterator<Item = (SessionId, TurnId)> + Send,
    ) -> Result<Vec<DerivedTurn>, Refusal> {
        let of_org = |(session, turn)| SessionKey { org: caller.org.clone(), session }.turn(turn);
        let keys: Vec<TurnKey> = ids.into_iter().map(of_org).collect();
        let found = self.store.sessions_and_turns(&keys).await?;
        Ok(found.into_iter().map(|found| DerivedTurn::new(caller, found)).collect())
    }

    /// Reads a session for the start of a new turn, beside other reads. None unless it is the caller's own.
    ///
    /// # Errors
    /// If the store can't be read.
    pub async fn start_read(
        &self,
        caller: &Caller,
        session: &SessionId,
    ) -> Result<Option<Box<StartRead>>, Refusal> {
        let key = SessionKey { org: caller.org.clone(), session: session.clone() };
        let session = self.store.session(&key).await?;
        let own = session.filter(|session| session.owner.id == caller.user.id);
        Ok(own.map(|session| Box::new(StartRead { session: Some(session), ..StartRead::default() })))
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
        let model = record.request.upstream.model.clone();
        self.snapshot_of(&session, &record.turn, ready(Ok(model))).await
    }

    /// Reads the rest of a turn that a search has found.
    ///
    /// # Errors
    /// If there is no such turn, or it can't be read.
    pub async fn derived_snapshot(&self, derived: &DerivedTurn) -> Result<TurnSnapshot, Refusal> {
        let (Some(session), Some(turn)) = &derived.found else { return Err(Refusal::TurnNotFound) };
        let missing = || Unavailable { what: "the details of a request", source: "they are missing".into() };
        let model = async {
            let detail = self.store.request_detail(&turn.key).await?;
            detail.map(|detail| detail.upstream.model).ok_or_else(missing)
        };
        self.snapshot_of(session, turn, model).await
    }

    /// Reads the request, the response and the steps of a turn, beside its model.
    async fn snapshot_of(
        &self,
        session: &Session,
        turn: &Turn,
        model: impl Future<Output = Result<String, Unavailable>> + Send,
    ) -> Result<TurnSnapshot, Refusal> {
        let (model, request, response, history) = try_join4(
            model,
            stored_request::load(&self.store, &self.payloads, turn),
            replay::response(&self.payloads, turn),
            // Boxed: the history's future is large.
            Box::pin(turn_history::load(&self.store, &self.payloads, turn)),
        )
        .await?;
        let waits = matches!(turn.state, State::AwaitingTools { .. });
        let suspensions = history.rounds.iter().filter_map(|round| suspension(round, waits)).collect();
        let partial = history.last.filter(|last| last.kind == StepKind::PartialAnswer);
        Ok(TurnSnapshot {
            head: TurnHead::new(session, turn),
            created: turn.created,
            settled: turn.settlement().map(|settlement| settlement.at),
            request,
            model,
            response,
            suspensions,
            partial_answer: partial.map(|last| last.text),
        })
    }
}

/// Returns a round as a suspension; none if the server ran all of its calls.
fn suspension(round: &Round, waits: bool) -> Option<Suspension> {
    let of_client = |ran_by: Option<RanBy>, is_open: bool| {
        ran_by == Some(RanBy::Client) || is_open && waits && ran_by != Some(RanBy::Server)
    };
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
    (!asked.is_empty()).then(|| Suspension {
        text: round.message.text.clone(),
        calls: asked,
        results,
        message: round.instruction.clone(),
    })
}
