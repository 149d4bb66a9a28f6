//! Read: sessions, turns and payloads as the caller may see them (DD-003, DD-007). Can't change the table.

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
    detail::{ModeChange as StoredChange, ModePlace, Report},
    id::{AttemptId, SessionKey, TurnKey},
    payload::{Kind, Payload},
    session::{Contexts, Part, Session},
    transition::finalize::report,
    turn::State,
};

use super::{
    access, done,
    steps::{self, Known},
};
use crate::{
    ports::{Order, PayloadReads, Reads, Record, Unavailable},
    refusal::Refusal,
    view::{self, Names},
};

/// The most mode changes that a session's detail holds.
const MODES_PAGE: u32 = 100;

/// The most participants that a session's detail names.
const MOST_PARTICIPANTS: usize = 100;

/// Which of a session's turns are read with it.
#[derive(Debug, Clone, Copy)]
pub struct TurnsPage<'a> {
    /// In which order.
    pub order: Order,
    /// How many at most.
    pub size: u32,
    /// Where the page before ended.
    pub place: Option<&'a str>,
}

impl Default for TurnsPage<'_> {
    /// The first turns.
    fn default() -> Self {
        Self { order: Order::default(), size: MAX_PAGE_SIZE, place: None }
    }
}

/// Answers questions about sessions and turns.
#[derive(Debug)]
pub struct SessionReader<R, P> {
    pub(super) store: R,
    pub(super) payloads: P,
}

/// What was asked for, and what the caller should know about the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told<T> {
    /// What was asked for.
    pub result: T,
    /// Not about what was asked for.
    pub warnings: Vec<Warning>,
}

/// Which payload of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PayloadName {
    /// The whole request.
    Instruction,
    /// The whole answer.
    Answer,
    /// What the provider was sent for a reply of the turn, or else in its last model call; for operators.
    ModelRequest {
        /// Which reply.
        round: Option<u32>,
    },
    /// What the provider answered to it; for operators.
    ModelResponse {
        /// Which reply.
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
    /// Reads these. Whatever else they can do is out of reach from here on.
    #[must_use]
    pub fn new(store: R, payloads: P) -> Self {
        Self { store, payloads }
    }

    /// A session with its turns in order, some at a time.
    ///
    /// # Errors
    /// When there is no such session for this caller, or the place is not one that a page of this list ended with.
    pub async fn session(
        &self,
        caller: &Caller,
        id: SessionId,
        page: TurnsPage<'_>,
    ) -> Result<Told<AgentSession>, Refusal> {
        let (shown, part) = self.shown(caller, id, page).await?;
        access::audit_read(caller, part);
        Ok(shown)
    }

    /// The same, and what the caller is to the session: who reads it has yet to be told in the log.
    pub(super) async fn shown(
        &self,
        caller: &Caller,
        id: SessionId,
        TurnsPage { order, size, place }: TurnsPage<'_>,
    ) -> Result<(Told<AgentSession>, Part), Refusal> {
        let after = sequence(place)?;
        let most = usize::try_from(size).unwrap_or(usize::MAX);
        let key = SessionKey { org: caller.org.clone(), session: id };
        let (found, records, modes, participants) = try_join4(
            self.store.session(&key),
            // One more than is shown tells whether there are more.
            self.store.records(&key, after, order, most.saturating_add(1)),
            self.mode_page(caller, &key, None, MODES_PAGE, Vec::new()),
            self.store.participants(&key, MOST_PARTICIPANTS),
        )
        .await?;
        let found = found.ok_or(Refusal::SessionNotFound)?;
        let part = access::part_of(&self.store, caller, &found).await?;
        let mut session =
            Some(found).filter(|session| session.is_seen_by(caller, part)).ok_or(Refusal::SessionNotFound)?;
        let (mut modes, mut participants) = (modes, participants);
        if let Some(decided) = Box::pin(self.decided(&session)).await? {
            modes = self.mode_page(caller, &key, None, MODES_PAGE, decided.mode_changes).await?;
            let turn = decided.turn;
            for part in participants.iter_mut().filter(|part| part.user == turn.requested_by) {
                part.last_activity = part.last_activity.max(turn.created);
            }
            session = decided.session;
        }
        let more = records.len() > most;
        let mut turns = Vec::with_capacity(records.len().min(most));
        for record in records.iter().take(most) {
            turns.push(self.seen_by(caller, record).await?);
        }
        let next = turns.last().filter(|_| more).map(|turn| turn.sequence_number.to_string());
        let Told { result: names, warnings } = names_of(&self.store, caller, [&session.contexts]).await;
        let shown = view::session(&session, &names, modes, &participants, turns, next);
        Ok((Told { result: shown, warnings }, part))
    }

    /// A session with its first turns.
    ///
    /// # Errors
    /// When there is no such session for this caller.
    pub async fn session_with_first_turns(
        &self,
        caller: &Caller,
        id: SessionId,
    ) -> Result<Told<AgentSession>, Refusal> {
        self.session(caller, id, TurnsPage::default()).await
    }

    /// The changes of a session's mode, newest first.
    ///
    /// # Errors
    /// When there is no such session for this caller, or the token is not one of ours.
    pub async fn mode_history(
        &self,
        caller: &Caller,
        id: SessionId,
        page_size: u32,
        token: Option<&str>,
    ) -> Result<ListResponse<ModeChange>, Refusal> {
        let before = token.map(str::parse).transpose().map_err(|_| Refusal::BadContinuationToken)?;
        let key = SessionKey { org: caller.org.clone(), session: id };
        let (session, page) =
            try_join(self.store.session(&key), self.mode_page(caller, &key, before, page_size, Vec::new()))
                .await?;
        let session = self.seen(caller, session).await?.ok_or(Refusal::SessionNotFound)?;
        Ok(match Box::pin(self.decided(&session)).await? {
            Some(decided) => self.mode_page(caller, &key, before, page_size, decided.mode_changes).await?,
            None => page,
        })
    }

    /// One page of changes. Who changed the mode is known by name from what was asked in that turn.
    async fn mode_page(
        &self,
        caller: &Caller,
        session: &SessionKey,
        before: Option<ModePlace>,
        page_size: u32,
        ahead: Vec<StoredChange>,
    ) -> Result<ListResponse<ModeChange>, Unavailable> {
        let most = usize::try_from(page_size).unwrap_or(usize::MAX);
        // One more than is shown tells whether there are more.
        let mut changes = self.store.mode_history(session, before, most.saturating_add(1)).await?;
        // Those of a turn that is finalized meanwhile are there already.
        let is_of_page = |change: &StoredChange| {
            before.is_none_or(|before| change.place < before)
                && changes.iter().all(|known| known.place != change.place)
        };
        let ahead: Vec<_> = ahead.into_iter().rev().filter(is_of_page).collect();
        changes.splice(..0, ahead);
        let more = changes.len() > most;
        changes.truncate(most);
        let next = changes.last().filter(|_| more).map(|last| last.place.to_string());
        // The changes of a turn stand together.
        let mut turns: Vec<TurnKey> = changes.iter().map(|change| change.key.clone()).collect();
        turns.dedup();
        let asked = stream::iter(turns).map(|turn| async move {
            self.store.request_detail(&turn).await.map(|asked| asked.map(|asked| (turn, asked.by)))
        });
        let by: Vec<Option<(TurnKey, User)>> = asked.buffer_unordered(AT_ONCE).try_collect().await?;
        let by: HashMap<TurnKey, User> = by.into_iter().flatten().collect();
        let names = Names { org: caller.org_name.clone(), ..Names::default() };
        let items = changes.into_iter().map(|change| {
            let user = by.get(&change.key).cloned();
            view::mode_entry(change, user.as_ref(), &names)
        });
        Ok(ListResponse::new(items.collect(), page_size, next))
    }

    /// A session as a list shows it.
    ///
    /// # Errors
    /// When there is no such session for this caller.
    pub async fn session_summary(
        &self,
        caller: &Caller,
        id: SessionId,
    ) -> Result<Told<AgentSessionSummary>, Refusal> {
        let key = SessionKey { org: caller.org.clone(), session: id };
        let session = self.store.session(&key).await?.ok_or(Refusal::SessionNotFound)?;
        if !access::sees(&self.store, caller, &session).await? {
            return Err(Refusal::SessionNotFound);
        }
        let session = self.current(vec![session], false).await?.pop().ok_or(Refusal::SessionNotFound)?;
        let Told { result: names, warnings } = names_of(&self.store, caller, [&session.contexts]).await;
        Ok(Told { result: view::session_summary(&session, &names), warnings })
    }

    /// What the purge of a session came to so far.
    ///
    /// # Errors
    /// When no session of this caller's was purged.
    pub async fn purge(&self, caller: &Caller, id: SessionId) -> Result<PurgeReport, Refusal> {
        let key = SessionKey { org: caller.org.clone(), session: id };
        let (session, record) = try_join(self.store.session(&key), self.store.purge(&key)).await?;
        let purged = session.filter(|session| session.is_purged() && session.is_governed_by(caller));
        match (purged, record) {
            (Some(session), Some(record)) => Ok(view::purge(&session, record, caller.operator)),
            _ => Err(Refusal::SessionNotFound),
        }
    }

    /// One turn, whole.
    ///
    /// # Errors
    /// When there is no such turn for this caller.
    pub async fn turn(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
    ) -> Result<AgentSessionTurn, Refusal> {
        let record = self.record(caller, session, turn).await?;
        self.seen_by(caller, &record).await
    }

    /// One turn, whole, of a session that the caller was seen to see.
    pub(super) async fn turn_of_seen(
        &self,
        caller: &Caller,
        key: &TurnKey,
    ) -> Result<AgentSessionTurn, Refusal> {
        let record = self.store.record(key).await?.ok_or(Refusal::TurnNotFound)?;
        self.seen_by(caller, &record).await
    }

    /// One turn, light.
    ///
    /// # Errors
    /// When there is no such turn for this caller.
    pub async fn turn_summary(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
    ) -> Result<AgentSessionTurnSummary, Refusal> {
        let record = self.record(caller, session, turn).await?;
        let report = report_of(&self.store, &self.payloads, &record).await?;
        Ok(view::turn_summary(&record, &report))
    }

    /// Which object a payload of a turn is.
    pub(super) async fn named(
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
        let record = self.record(caller, session, turn).await?;
        let kind = match name {
            PayloadName::Instruction => Kind::Instruction(record.turn.stored_request()),
            PayloadName::Answer => record.turn.answer().ok_or(Refusal::PayloadNotFound)?.kind,
            PayloadName::File { address, name } => Kind::File { address, name },
            PayloadName::ModelRequest { round } => self.raw(&record, round, Kind::ModelRequest).await?,
            PayloadName::ModelResponse { round } => self.raw(&record, round, Kind::ModelResponse).await?,
        };
        Ok(Payload { turn: record.turn.key, kind })
    }

    /// A raw payload of a reply, or of the turn's last model call.
    async fn raw(
        &self,
        record: &Record,
        round: Option<u32>,
        kind: fn(AttemptId, u32) -> Kind,
    ) -> Result<Kind, Refusal> {
        if let Some(round) = round {
            // Boxed: it is an operator's question, and what tells of a turn is large.
            let told = Box::pin(done::told(&self.store, &self.payloads, &record.turn)).await?;
            let made = told.made_of(round).ok_or(Refusal::PayloadNotFound)?;
            return Ok(kind(made.by.clone(), made.call));
        }
        let call = report_of(&self.store, &self.payloads, record).await?.raw_payloads;
        let settled = record.turn.settlement();
        let writer = settled.and_then(|settlement| settlement.verdict.writer());
        let (Some(call), Some(writer)) = (call, writer) else {
            return Err(Refusal::PayloadNotFound);
        };
        Ok(kind(writer.clone(), call))
    }

    pub(super) async fn record(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
    ) -> Result<Record, Refusal> {
        let key: TurnKey = SessionKey { org: caller.org.clone(), session }.turn(turn);
        let (found, record) = try_join(self.store.session(&key.session), self.store.record(&key)).await?;
        let seen = self.seen(caller, found).await?;
        seen.and(record).ok_or(Refusal::TurnNotFound)
    }

    /// The session, where the caller may see it. That others than its participants read it is told in the log.
    pub(super) async fn seen(
        &self,
        caller: &Caller,
        found: Option<Session>,
    ) -> Result<Option<Session>, Unavailable> {
        let Some(session) = found else { return Ok(None) };
        let part = access::part_of(&self.store, caller, &session).await?;
        if !session.is_seen_by(caller, part) {
            return Ok(None);
        }
        access::audit_read(caller, part);
        Ok(Some(session))
    }

    async fn seen_by(&self, caller: &Caller, record: &Record) -> Result<AgentSessionTurn, Refusal> {
        let report = report_of(&self.store, &self.payloads, record).await?;
        Ok(view::turn(record, &report, caller.operator))
    }
}

/// What came of a turn: its detail once it is finalized, its outcome object as soon as it is settled.
pub(super) async fn report_of(
    store: &impl Reads,
    payloads: &impl PayloadReads,
    record: &Record,
) -> Result<Report, Unavailable> {
    match (&record.turn.state, &record.result) {
        (State::Finalized(_), Some(result)) => Ok(result.report.clone()),
        (State::Settled(settlement) | State::Finalized(settlement), _) => {
            let known = steps::known(store, payloads, &record.turn).await?;
            Ok(report(&settlement.verdict, known.as_ref().map(Known::findings).as_ref()))
        }
        (State::Running { .. } | State::AwaitingTools { .. }, _) => Ok(Report::default()),
    }
}

/// The sequence number that a place in a session's turns is.
pub(super) fn sequence(place: Option<&str>) -> Result<Option<u64>, Refusal> {
    let number = |text: &str| text.parse().ok().filter(|number: &u64| number.to_string() == text);
    place.map(|place| number(place).ok_or(Refusal::BadContinuationToken)).transpose()
}

/// How many names are looked up at once. A page names a handful of contexts, and the store keeps those that
/// it read lately.
pub(super) const AT_ONCE: usize = 8;

/// What the caller is told where a context's name could not be read.
const NAMELESS: &str = "The names of some contexts could not be read; their ids are shown instead. Read again later for the names.";

/// The names of these sessions' contexts. A context that is gone or can't be read has none: a list of
/// sessions is worth more than the names in it.
pub(super) async fn names_of(
    store: &impl Reads,
    caller: &Caller,
    sessions: impl IntoIterator<Item = &Contexts>,
) -> Told<Names> {
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
        agents.buffer_unordered(AT_ONCE).collect::<Vec<_>>(),
        conversations.buffer_unordered(AT_ONCE).collect::<Vec<_>>(),
    )
    .await;
    let ((agents, all_agents), (conversations, all_conversations)) =
        (readable(agents), readable(conversations));
    let nameless = Warning { message: NAMELESS.to_owned(), error_code: None };
    Told {
        result: Names { org: caller.org_name.clone(), agents, conversations },
        warnings: (!all_agents || !all_conversations).then_some(nameless).into_iter().collect(),
    }
}

/// The names that were found, and whether all could be read.
fn readable<Id: Eq + Hash>(
    found: Vec<(Id, Result<Option<String>, Unavailable>)>,
) -> (HashMap<Id, String>, bool) {
    let all = found.iter().all(|(_, name)| name.is_ok());
    let names = found.into_iter().filter_map(|(id, name)| {
        let name = name.inspect_err(|error| {
            tracing::warn!(error = %causes(error), "a context's name could not be read");
        });
        Some((id, name.ok()??))
    });
    (names.collect(), all)
}
