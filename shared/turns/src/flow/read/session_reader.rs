//! Reads sessions, turns and payloads as the caller may see them. Can't change the table.

use std::{
    collections::{BTreeSet, HashMap},
    hash::Hash,
};

use contracts::{
    FileAddress,
    error::causes,
    id::{AgentContextId, ConversationContextId, SessionId, TurnId},
    invoke_result::Warning,
    read::{
        AgentSession, AgentSessionSummary, AgentSessionTurn, AgentSessionTurnSummary, ListResponse,
        ModeChange, PurgeReport,
    },
    request::limits::MAX_PAGE_SIZE,
};
use futures::{
    StreamExt, TryStreamExt,
    future::{join, try_join, try_join4},
    stream,
};
use protocol::{
    Caller,
    caller::User,
    detail::{ModeChange as StoredChange, ModeChangePosition, Report},
    id::{AttemptId, SessionKey, TurnKey},
    payload::{Kind, Payload},
    session::{Contexts, Session, SessionRole},
    transition::finalize::report,
    turn::State,
};

use crate::flow::{
    access,
    finish::evidence::{self, Evidence},
    read::turn_history,
};
use crate::{
    ports::{Order, PayloadReads, Reads, Record, Unavailable},
    refusal::Refusal,
    view::{self, Names},
};

/// The most mode changes in a session's detail.
const MODE_PAGE_SIZE: u32 = 100;

/// The most participants in a session's detail.
const MAX_PARTICIPANTS: usize = 100;

/// The page of turns to read with a session.
#[derive(Debug, Clone, Copy)]
pub struct TurnsPage<'a> {
    /// The order of the turns.
    pub order: Order,
    /// The most turns to return.
    pub size: u32,
    /// The token with which the previous page ended.
    pub token: Option<&'a str>,
}

impl Default for TurnsPage<'_> {
    /// The first page.
    fn default() -> Self {
        Self { order: Order::default(), size: MAX_PAGE_SIZE, token: None }
    }
}

/// Reads sessions and turns.
#[derive(Debug)]
pub struct SessionReader<R, P> {
    pub(crate) store: R,
    pub(crate) payloads: P,
}

/// A result with the warnings that belong to the response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithWarnings<T> {
    /// The result.
    pub result: T,
    /// Warnings about the call, for example missing names.
    pub warnings: Vec<Warning>,
}

/// The name of a turn's payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PayloadName {
    /// The request in full.
    Instruction,
    /// The answer in full.
    Answer,
    /// The raw request of a reply, or of the turn's last model call. For operators.
    ModelRequest {
        /// The reply, by round.
        round: Option<u32>,
    },
    /// The provider's raw response to it. For operators.
    ModelResponse {
        /// The reply, by round.
        round: Option<u32>,
    },
    /// A published file.
    File {
        /// The hash of its bytes.
        address: FileAddress,
        /// Its name.
        name: String,
    },
}

impl<R: Reads, P: PayloadReads> SessionReader<R, P> {
    /// Creates a reader. Its type parameters limit it to reads from here on.
    #[must_use]
    pub fn new(store: R, payloads: P) -> Self {
        Self { store, payloads }
    }

    /// Reads a session with a page of its turns.
    ///
    /// # Errors
    /// If this caller has no such session, or the token isn't from this list.
    pub async fn session(
        &self,
        caller: &Caller,
        id: SessionId,
        page: TurnsPage<'_>,
    ) -> Result<WithWarnings<AgentSession>, Refusal> {
        let (shown, role) = self.read_session(caller, id, page).await?;
        access::audit_read(caller, role);
        Ok(shown)
    }

    /// Reads a session with a page of its turns, and the caller's role. The caller of this function logs the read.
    pub(crate) async fn read_session(
        &self,
        caller: &Caller,
        id: SessionId,
        TurnsPage { order, size, token }: TurnsPage<'_>,
    ) -> Result<(WithWarnings<AgentSession>, SessionRole), Refusal> {
        let after = parse_sequence(token)?;
        let limit = usize::try_from(size).unwrap_or(usize::MAX);
        let key = SessionKey { org: caller.org.clone(), session: id };
        let (found, records, modes, participants) = try_join4(
            self.store.session(&key),
            // One item more than the page shows if another page follows.
            self.store.records(&key, after, order, limit.saturating_add(1)),
            self.mode_page(caller, &key, None, MODE_PAGE_SIZE, Vec::new()),
            self.store.participants(&key, MAX_PARTICIPANTS),
        )
        .await?;
        let found = found.ok_or(Refusal::SessionNotFound)?;
        let role = access::role_of(&self.store, caller, &found).await?;
        let mut session = Some(found)
            .filter(|session| session.is_visible_to(caller, role))
            .ok_or(Refusal::SessionNotFound)?;
        let (mut modes, mut participants) = (modes, participants);
        if let Some(projection) = Box::pin(self.projection_of(&session)).await? {
            modes = self.mode_page(caller, &key, None, MODE_PAGE_SIZE, projection.mode_changes).await?;
            let turn = projection.turn;
            for part in participants.iter_mut().filter(|part| part.user == turn.requested_by) {
                part.last_activity = part.last_activity.max(turn.created);
            }
            session = projection.session;
        }
        let more = records.len() > limit;
        let mut turns = Vec::with_capacity(records.len().min(limit));
        for record in records.iter().take(limit) {
            turns.push(self.turn_view(caller, record).await?);
        }
        let next = turns.last().filter(|_| more).map(|turn| turn.sequence_number.to_string());
        let WithWarnings { result: names, warnings } =
            context_names(&self.store, caller, [&session.contexts]).await;
        let shown = view::session(&session, &names, modes, &participants, turns, next);
        Ok((WithWarnings { result: shown, warnings }, role))
    }

    /// Reads a session with its first page of turns.
    ///
    /// # Errors
    /// If this caller has no such session.
    pub async fn session_with_first_turns(
        &self,
        caller: &Caller,
        id: SessionId,
    ) -> Result<WithWarnings<AgentSession>, Refusal> {
        self.session(caller, id, TurnsPage::default()).await
    }

    /// Lists the changes of a session's mode, newest first.
    ///
    /// # Errors
    /// If this caller has no such session, or the token isn't from this list.
    pub async fn mode_history(
        &self,
        caller: &Caller,
        id: SessionId,
        page_size: u32,
        token: Option<&str>,
    ) -> Result<ListResponse<ModeChange>, Refusal> {
        let before = token.map(str::parse).transpose().map_err(|_| Refusal::InvalidContinuationToken)?;
        let key = SessionKey { org: caller.org.clone(), session: id };
        let (session, page) =
            try_join(self.store.session(&key), self.mode_page(caller, &key, before, page_size, Vec::new()))
                .await?;
        let session = self.visible(caller, session).await?.ok_or(Refusal::SessionNotFound)?;
        Ok(match Box::pin(self.projection_of(&session)).await? {
            Some(projection) => {
                self.mode_page(caller, &key, before, page_size, projection.mode_changes).await?
            }
            None => page,
        })
    }

    /// Reads a page of mode changes. The name of the user who made a change comes from the request of that turn.
    /// `unstored` are changes that aren't stored yet.
    async fn mode_page(
        &self,
        caller: &Caller,
        session: &SessionKey,
        before: Option<ModeChangePosition>,
        page_size: u32,
        unstored: Vec<StoredChange>,
    ) -> Result<ListResponse<ModeChange>, Unavailable> {
        let limit = usize::try_from(page_size).unwrap_or(usize::MAX);
        // One item more than the page shows if another page follows.
        let mut changes = self.store.mode_history(session, before, limit.saturating_add(1)).await?;
        // Changes of a turn that was finalized meanwhile are stored already.
        let is_of_page = |change: &StoredChange| {
            before.is_none_or(|before| change.position < before)
                && changes.iter().all(|known| known.position != change.position)
        };
        let unstored: Vec<_> = unstored.into_iter().rev().filter(is_of_page).collect();
        changes.splice(..0, unstored);
        let more = changes.len() > limit;
        changes.truncate(limit);
        let next = changes.last().filter(|_| more).map(|last| last.position.to_string());
        // The changes of one turn are adjacent.
        let mut turns: Vec<TurnKey> = changes.iter().map(|change| change.key.clone()).collect();
        turns.dedup();
        let requests = stream::iter(turns).map(|turn| async move {
            self.store
                .request_detail(&turn)
                .await
                .map(|detail| detail.map(|detail| (turn, detail.requested_by)))
        });
        let by: Vec<Option<(TurnKey, User)>> =
            requests.buffer_unordered(MAX_CONCURRENT_READS).try_collect().await?;
        let by: HashMap<TurnKey, User> = by.into_iter().flatten().collect();
        let names = Names { org: caller.org_name.clone(), ..Names::default() };
        let items = changes.into_iter().map(|change| {
            let user = by.get(&change.key).cloned();
            view::mode_entry(change, user.as_ref(), &names)
        });
        Ok(ListResponse::new(items.collect(), page_size, next))
    }

    /// Reads the summary of a session, as lists show it.
    ///
    /// # Errors
    /// If this caller has no such session.
    pub async fn session_summary(
        &self,
        caller: &Caller,
        id: SessionId,
    ) -> Result<WithWarnings<AgentSessionSummary>, Refusal> {
        let key = SessionKey { org: caller.org.clone(), session: id };
        let session = self.store.session(&key).await?.ok_or(Refusal::SessionNotFound)?;
        if !access::can_see(&self.store, caller, &session).await? {
            return Err(Refusal::SessionNotFound);
        }
        let session = self.project_all(vec![session], false).await?.pop().ok_or(Refusal::SessionNotFound)?;
        let WithWarnings { result: names, warnings } =
            context_names(&self.store, caller, [&session.contexts]).await;
        Ok(WithWarnings { result: view::session_summary(&session, &names), warnings })
    }

    /// Reports the progress of a session's purge.
    ///
    /// # Errors
    /// If the caller has no such session, or it isn't being purged.
    pub async fn purge(&self, caller: &Caller, id: SessionId) -> Result<PurgeReport, Refusal> {
        let key = SessionKey { org: caller.org.clone(), session: id };
        let (session, record) = try_join(self.store.session(&key), self.store.purge(&key)).await?;
        let purged = session.filter(|session| session.is_purged() && session.is_administered_by(caller));
        match (purged, record) {
            (Some(session), Some(record)) => Ok(view::purge(&session, record, caller.operator)),
            _ => Err(Refusal::SessionNotFound),
        }
    }

    /// Reads a turn in full.
    ///
    /// # Errors
    /// If this caller has no such turn.
    pub async fn turn(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
    ) -> Result<AgentSessionTurn, Refusal> {
        let record = self.visible_record(caller, session, turn).await?;
        self.turn_view(caller, &record).await
    }

    /// Reads a turn in full, of a session that the caller was verified to see.
    pub(crate) async fn visible_turn(
        &self,
        caller: &Caller,
        key: &TurnKey,
    ) -> Result<AgentSessionTurn, Refusal> {
        let record = self.store.record(key).await?.ok_or(Refusal::TurnNotFound)?;
        self.turn_view(caller, &record).await
    }

    /// Reads the summary of a turn.
    ///
    /// # Errors
    /// If this caller has no such turn.
    pub async fn turn_summary(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
    ) -> Result<AgentSessionTurnSummary, Refusal> {
        let record = self.visible_record(caller, session, turn).await?;
        let report = report_of(&self.store, &self.payloads, &record).await?;
        Ok(view::turn_summary(&record, &report))
    }

    /// Resolves the name of a payload to its object.
    pub(crate) async fn resolve_payload(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
        name: PayloadName,
    ) -> Result<Payload, Refusal> {
        let raw = matches!(name, PayloadName::ModelRequest { .. } | PayloadName::ModelResponse { .. });
        if raw && !caller.operator {
            return Err(Refusal::PayloadNotFound);
        }
        let record = self.visible_record(caller, session, turn).await?;
        let kind = match name {
            PayloadName::Instruction => Kind::Instruction(record.turn.stored_request()),
            PayloadName::Answer => record.turn.answer().ok_or(Refusal::PayloadNotFound)?.kind,
            PayloadName::File { address, name } => Kind::File { address, name },
            PayloadName::ModelRequest { round } => {
                self.raw_payload_kind(&record, round, Kind::ModelRequest).await?
            }
            PayloadName::ModelResponse { round } => {
                self.raw_payload_kind(&record, round, Kind::ModelResponse).await?
            }
        };
        Ok(Payload { turn: record.turn.key, kind })
    }

    /// Resolves the raw payload of a reply, or of the turn's last model call.
    async fn raw_payload_kind(
        &self,
        record: &Record,
        round: Option<u32>,
        kind: fn(AttemptId, u32) -> Kind,
    ) -> Result<Kind, Refusal> {
        if let Some(round) = round {
            // Boxed: only operators ask for this, and the history's future is large.
            let history = Box::pin(turn_history::load(&self.store, &self.payloads, &record.turn)).await?;
            let model_call = history.call_info(round).ok_or(Refusal::PayloadNotFound)?;
            return Ok(kind(model_call.attempt_id.clone(), model_call.number));
        }
        let call = report_of(&self.store, &self.payloads, record).await?.last_raw_payload;
        let settled = record.turn.settlement();
        let writer = settled.and_then(|settlement| settlement.verdict.writer());
        let (Some(call), Some(writer)) = (call, writer) else {
            return Err(Refusal::PayloadNotFound);
        };
        Ok(kind(writer.clone(), call))
    }

    pub(crate) async fn visible_record(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
    ) -> Result<Record, Refusal> {
        let key: TurnKey = SessionKey { org: caller.org.clone(), session }.turn(turn);
        let (session, record) = try_join(self.store.session(&key.session), self.store.record(&key)).await?;
        let visible = self.visible(caller, session).await?;
        visible.and(record).ok_or(Refusal::TurnNotFound)
    }

    /// Returns the session if the caller may see it. Logs the read if the caller isn't a participant.
    pub(crate) async fn visible(
        &self,
        caller: &Caller,
        found: Option<Session>,
    ) -> Result<Option<Session>, Unavailable> {
        let Some(session) = found else { return Ok(None) };
        let role = access::role_of(&self.store, caller, &session).await?;
        if !session.is_visible_to(caller, role) {
            return Ok(None);
        }
        access::audit_read(caller, role);
        Ok(Some(session))
    }

    async fn turn_view(&self, caller: &Caller, record: &Record) -> Result<AgentSessionTurn, Refusal> {
        let report = report_of(&self.store, &self.payloads, record).await?;
        Ok(view::turn(record, &report, caller.operator))
    }
}

/// Loads the report of a turn: from its detail if it is finalized, or from its evidence as soon as it is settled.
pub(crate) async fn report_of(
    store: &impl Reads,
    payloads: &impl PayloadReads,
    record: &Record,
) -> Result<Report, Unavailable> {
    match (&record.turn.state, &record.result) {
        (State::Finalized(_), Some(result)) => Ok(result.report.clone()),
        (State::Settled(settlement) | State::Finalized(settlement), _) => {
            let evidence = evidence::load(store, payloads, &record.turn).await?;
            Ok(report(&settlement.verdict, evidence.as_ref().map(Evidence::outcome_summary).as_ref()))
        }
        (State::Running { .. } | State::AwaitingTools { .. }, _) => Ok(Report::default()),
    }
}

/// Parses a token of a session's turns: a sequence number.
pub(crate) fn parse_sequence(token: Option<&str>) -> Result<Option<u64>, Refusal> {
    let number = |text: &str| text.parse().ok().filter(|number: &u64| number.to_string() == text);
    token.map(|token| number(token).ok_or(Refusal::InvalidContinuationToken)).transpose()
}

/// The number of concurrent reads. A page refers to few contexts, and the store caches those that it read lately.
pub(crate) const MAX_CONCURRENT_READS: usize = 8;

/// The warning for names that can't be read.
const NAMES_MISSING: &str = "The names of some contexts could not be read; their ids are shown instead. Read again later for the names.";

/// Reads the names of these sessions' contexts. A context that is gone or can't be read gets no name, and doesn't
/// fail the list.
pub(crate) async fn context_names(
    store: &impl Reads,
    caller: &Caller,
    sessions: impl IntoIterator<Item = &Contexts>,
) -> WithWarnings<Names> {
    let org = &caller.org;
    let (mut agents, mut conversations) = (BTreeSet::new(), BTreeSet::new());
    for contexts in sessions {
        agents.extend(contexts.agent.clone());
        conversations.extend(contexts.conversation.clone());
    }
    let agents = stream::iter(agents).map(|id: AgentContextId| async move {
        let found = store.agent_context(org, &id).await;
        (id, found.map(|found| found.map(|found| found.name)))
    });
    let conversations = stream::iter(conversations).map(|id: ConversationContextId| async move {
        let found = store.conversation_context(org, &id).await;
        (id, found.map(|found| found.map(|found| found.name)))
    });
    let (agents, conversations) = join(
        agents.buffer_unordered(MAX_CONCURRENT_READS).collect::<Vec<_>>(),
        conversations.buffer_unordered(MAX_CONCURRENT_READS).collect::<Vec<_>>(),
    )
    .await;
    let ((agents, all_agents), (conversations, all_conversations)) =
        (split_readable(agents), split_readable(conversations));
    let warning = Warning { message: NAMES_MISSING.to_owned(), error_code: None };
    WithWarnings {
        result: Names { org: caller.org_name.clone(), agents, conversations },
        warnings: (!all_agents || !all_conversations).then_some(warning).into_iter().collect(),
    }
}

/// Splits the names that could be read from the failures. The flag is true if none failed.
fn split_readable<Id: Eq + Hash>(
    found: Vec<(Id, Result<Option<String>, Unavailable>)>,
) -> (HashMap<Id, String>, bool) {
    let all = found.iter().all(|(_, name)| name.is_ok());
    let names = found.into_iter().filter_map(|(id, name)| {
        let name = name.inspect_err(|error| {
            tracing::warn!(error = %causes(error), "{}", contracts::log::CONTEXT_NAME_UNREADABLE);
        });
        Some((id, name.ok()??))
    });
    (names.collect(), all)
}
