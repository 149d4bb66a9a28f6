//! Export: sessions as documents, written piece by piece. What is held at a time is a page of a list or one payload.
//!
//! Whoever sees a session may export what reads show of it. Operators get what an import needs besides.

use std::{future::Future, time::Duration};

use bytes::Bytes;
use contracts::{
    id::{SessionId, UserId},
    paths,
    read::{AgentSession, AgentSessionTurn, ExportFormat, ExportedPayload, PayloadKind, PayloadValue},
};
use futures::{SinkExt, Stream, StreamExt, channel::mpsc, stream};
use protocol::{
    Caller,
    id::{SessionKey, TurnKey},
    link,
    payload::{Kind, Payload},
    turn::Verdict,
};
use serde::{Deserialize, Serialize};

use super::{
    access,
    lists::WantedSessions,
    outcomes,
    read::{SessionReader, TurnsPage, report_of},
};
use crate::{
    ports::{Archive, Order, PayloadArchive, Payloads, Placed, Reads, Record, Timer, Unavailable},
    refusal::Refusal,
    view,
};

/// How many items of a list are held at a time.
const PAGE: usize = 20;

/// After how many bytes an org's export ends with a token: Lambda streams 200 MB, a session's own included.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// How an export holds payloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// Whole.
    Inline,
    /// As links.
    Links,
}

/// Why an export was cut short: what was written of it is no whole one.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// Nobody reads it any more.
    #[error("nobody reads it any more")]
    Unread,
    /// Something could not be read.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl From<Unavailable> for Broken {
    fn from(error: Unavailable) -> Self {
        Self::Refused(error.into())
    }
}

/// Where an export is written to. It holds one piece that is not read yet.
#[derive(Debug)]
pub struct Out {
    pieces: mpsc::Sender<Bytes>,
    written: u64,
}

/// What `write` writes, as it is read. It is worked on only while somebody reads.
pub fn written<F>(write: impl FnOnce(Out) -> F) -> impl Stream<Item = Result<Bytes, Broken>>
where
    F: Future<Output = Result<(), Broken>>,
{
    let (pieces, read) = mpsc::channel(0);
    let work = stream::once(write(Out { pieces, written: 0 }));
    let failed = work.filter_map(|done| async { done.err().map(Err) });
    stream::select(read.map(Ok), failed)
}

impl Out {
    async fn text(&mut self, text: &'static str) -> Result<(), Broken> {
        self.bytes(Bytes::from_static(text.as_bytes())).await
    }

    async fn bytes(&mut self, bytes: Bytes) -> Result<(), Broken> {
        self.written = self.written.saturating_add(bytes.len() as u64);
        self.pieces.send(bytes).await.map_err(|_| Broken::Unread)
    }

    async fn json(&mut self, value: &impl Serialize) -> Result<(), Broken> {
        // The contract's types hold strings, numbers and lists alone: they always serialize.
        self.bytes(serde_json::to_vec(value).unwrap_or_default().into()).await
    }

    /// A line of its own.
    ///
    /// # Errors
    /// When nobody reads any more.
    pub async fn line(&mut self, value: &impl Serialize) -> Result<(), Broken> {
        self.json(value).await?;
        self.text("\n").await
    }

    fn list(&mut self) -> List<'_> {
        List { out: self, is_begun: false }
    }
}

/// The items of a list, with commas between them.
struct List<'a> {
    out: &'a mut Out,
    is_begun: bool,
}

impl List<'_> {
    async fn next(&mut self) -> Result<&mut Out, Broken> {
        if std::mem::replace(&mut self.is_begun, true) {
            self.out.text(",").await?;
        }
        Ok(self.out)
    }

    async fn item(&mut self, value: &impl Serialize) -> Result<(), Broken> {
        self.next().await?.json(value).await
    }
}

/// Where an org's export goes on: a page of the list of sessions, and the last session of it that was written.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Place(Option<String>, Option<SessionId>);

/// What an org's export came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// How many sessions were written.
    pub sessions: u64,
    /// Where the next export goes on; none when these were all.
    pub place: Option<String>,
}

impl<R: Reads + Archive, P: Payloads + PayloadArchive> SessionReader<R, P> {
    /// The session that is to be exported, as far as it is shown before its turns.
    ///
    /// # Errors
    /// When there is no such session for this caller.
    pub async fn exporting(&self, caller: &Caller, id: SessionId) -> Result<AgentSession, Refusal> {
        let none = TurnsPage { order: Order::OldestFirst, size: 0, place: None };
        let session = self.shown(caller, id, none).await?.0.result;
        access::audit_whole("export", caller, &session.id);
        Ok(AgentSession {
            mode_history: Vec::new(),
            mode_history_continuation_token: None,
            turns: Vec::new(),
            continuation_token: None,
            ..session
        })
    }

    /// Writes a session's document.
    ///
    /// # Errors
    /// When something of it can't be read: then what was written is no document.
    pub async fn export(
        &self,
        caller: &Caller,
        session: &AgentSession,
        values: Values,
        out: &mut Out,
    ) -> Result<(), Broken> {
        let key = SessionKey { org: caller.org.clone(), session: session.id.clone() };
        out.text("{\"Format\":").await?;
        out.json(&ExportFormat::Session).await?;
        out.text(",\"Session\":").await?;
        out.json(session).await?;
        out.text(",\"ModeHistory\":[").await?;
        self.export_modes(caller, &key, &mut out.list()).await?;
        out.text("],\"Turns\":[").await?;
        let mut after = None;
        let mut turns = out.list();
        loop {
            let records = self.store.records(&key, after, Order::OldestFirst, PAGE).await?;
            for record in &records {
                self.export_turn(caller, record, values, turns.next().await?).await?;
            }
            match records.last() {
                Some(last) => after = Some(last.turn.sequence),
                None => break,
            }
        }
        if caller.operator && values == Values::Inline {
            out.text("],\"Stored\":[").await?;
            let (mut items, mut after) = (out.list(), None);
            loop {
                let page = self.store.stored(&key, after).await?;
                for item in &page.items {
                    items.item(item).await?;
                }
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
        }
        out.text("]}").await
    }

    async fn export_modes(
        &self,
        caller: &Caller,
        key: &SessionKey,
        out: &mut List<'_>,
    ) -> Result<(), Broken> {
        let mut before: Option<String> = None;
        loop {
            let size = u32::try_from(PAGE).unwrap_or(u32::MAX);
            let page = self.mode_history(caller, key.session.clone(), size, before.as_deref()).await?;
            for change in &page.items {
                out.item(change).await?;
            }
            before = page.continuation_token;
            if before.is_none() {
                return Ok(());
            }
        }
    }

    async fn export_turn(
        &self,
        caller: &Caller,
        record: &Record,
        values: Values,
        out: &mut Out,
    ) -> Result<(), Broken> {
        let report = report_of(&self.store, &self.payloads, record).await?;
        let turn: AgentSessionTurn = view::turn(record, &report, caller.operator);
        out.text("{\"Turn\":").await?;
        out.json(&turn).await?;
        out.text(",\"Feedback\":[").await?;
        let (mut list, mut after) = (out.list(), None::<UserId>);
        loop {
            let said = self.store.feedback(&record.turn.key, after.as_ref(), PAGE).await?;
            after = said.last().map(|last| last.by.id.clone());
            for said in said {
                list.item(&view::feedback(said)).await?;
            }
            if after.is_none() {
                break;
            }
        }
        out.text("],\"Payloads\":[").await?;
        if let Some(answer) = record.turn.answer() {
            outcomes::store_answer(&self.payloads, &answer).await?;
        }
        let (mut list, mut after) = (out.list(), None);
        loop {
            let page = self.payloads.objects(&record.turn.key, after).await?;
            for placed in page.items {
                let raw = report.raw_payloads.filter(|_| caller.operator);
                let url = url_of(record, &placed.payload.kind, raw);
                let wanted = match values {
                    Values::Inline if caller.operator => record.turn.needs(&placed.payload.kind),
                    Values::Inline | Values::Links => url.is_some(),
                };
                if wanted && let Some(payload) = self.export_payload(placed, url, values).await? {
                    list.item(&payload).await?;
                }
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        out.text("]}").await
    }

    /// A payload; none where it is gone by now.
    async fn export_payload(
        &self,
        Placed { payload, place, size }: Placed,
        url: Option<String>,
        values: Values,
    ) -> Result<Option<ExportedPayload>, Unavailable> {
        let linked = ExportedPayload {
            kind: kind_of(&payload),
            name: payload.kind.file_name().to_owned(),
            object: place,
            size_bytes: size,
            mime_type: None,
            sha256: None,
            text: None,
            base64: None,
            url,
        };
        if values == Values::Links {
            return Ok(Some(linked));
        }
        let found = self.payloads.read(&payload, u64::MAX).await?;
        Ok(found.and_then(|found| Some((found.media_type, found.bytes?))).map(|(media_type, bytes)| {
            let value = PayloadValue::new(linked.name.clone(), media_type, &bytes);
            ExportedPayload {
                size_bytes: value.size_bytes,
                mime_type: Some(value.mime_type),
                sha256: Some(value.sha256),
                text: value.text,
                base64: value.base64,
                url: None,
                ..linked
            }
        }))
    }

    /// Writes the documents of the caller's org's sessions, newest activity first, a line each, as far as the time and
    /// what an answer holds allow.
    ///
    /// # Errors
    /// When the caller is no operator, the place is not one that an export ended with, or something can't be read.
    pub async fn export_all(
        &self,
        caller: &Caller,
        wanted: &WantedSessions,
        values: Values,
        place: Option<&str>,
        (timer, budget): (&impl Timer, Duration),
        out: &mut Out,
    ) -> Result<Exported, Broken> {
        let Place(mut list, mut done) = match place {
            Some(place) => serde_json::from_str(place).map_err(|_| Refusal::BadContinuationToken)?,
            None => Place::default(),
        };
        let ends = timer.monotonic().saturating_add(budget);
        let mut exported = Exported { sessions: 0, place: None };
        loop {
            let user = wanted.user.as_ref();
            let page = self.store.sessions(&caller.org, user, &wanted.active, PAGE, list.clone()).await;
            let page = page.map_err(Refusal::from)?;
            let done_by_now = done.take();
            let at = page.items.iter().position(|one| Some(&one.key.session) == done_by_now.as_ref());
            for session in page.items.iter().skip(at.map_or(0, |at| at + 1)) {
                let id = &session.key.session;
                let is_over = out.written >= MOST_BYTES || timer.monotonic() >= ends;
                if is_over && exported.sessions > 0 {
                    exported.place = serde_json::to_string(&Place(list, done)).ok();
                    return Ok(exported);
                }
                if wanted.holds(session) {
                    match self.exporting(caller, id.clone()).await {
                        // Purged meanwhile.
                        Err(Refusal::SessionNotFound) => {}
                        shown => {
                            self.export(caller, &shown?, values, out).await?;
                            out.text("\n").await?;
                            exported.sessions += 1;
                        }
                    }
                }
                done = Some(id.clone());
            }
            (list, done) = (page.next, None);
            if list.is_none() {
                return Ok(exported);
            }
        }
    }
}

/// What only operators may ask for.
///
/// # Errors
/// When the caller is none.
pub fn for_operators(caller: &Caller) -> Result<(), Refusal> {
    if caller.operator { Ok(()) } else { Err(Refusal::NotAnOperator) }
}

fn kind_of(payload: &Payload) -> PayloadKind {
    match payload.kind {
        Kind::Instruction(_) => PayloadKind::Instruction,
        Kind::Outcome(_) => PayloadKind::Outcome,
        Kind::Step(..) => PayloadKind::Step,
        Kind::ToolResults(_) => PayloadKind::ToolResults,
        Kind::Answer(_) => PayloadKind::Answer,
        Kind::PartialAnswer(_) => PayloadKind::PartialAnswer,
        Kind::ModelRequest(..) => PayloadKind::LlmRequest,
        Kind::ModelResponse(..) => PayloadKind::LlmResponse,
        Kind::File { .. } => PayloadKind::File,
    }
}

/// Where a payload is read; none of what no read shows.
fn url_of(record: &Record, kind: &Kind, raw: Option<u32>) -> Option<String> {
    let key: &TurnKey = &record.turn.key;
    let verdict = record.turn.settlement().map(|settlement| &settlement.verdict);
    let is_last = |writer, call| verdict.and_then(Verdict::writer) == Some(writer) && raw == Some(call);
    match kind {
        Kind::Instruction(request) if *request == record.turn.stored_request() => {
            Some(link::payload(key, paths::INSTRUCTION))
        }
        Kind::Answer(writer) if matches!(verdict, Some(Verdict::Completed { writer: ours }) if ours == writer) => {
            Some(link::payload(key, paths::ANSWER))
        }
        Kind::ModelRequest(writer, call) if is_last(writer, *call) => {
            Some(link::payload(key, paths::MODEL_REQUEST))
        }
        Kind::ModelResponse(writer, call) if is_last(writer, *call) => {
            Some(link::payload(key, paths::MODEL_RESPONSE))
        }
        Kind::File { address, name } => Some(link::file(key, address, name)),
        Kind::Instruction(_)
        | Kind::Answer(_)
        | Kind::PartialAnswer(_)
        | Kind::ModelRequest(..)
        | Kind::ModelResponse(..)
        | Kind::Outcome(_)
        | Kind::Step(..)
        | Kind::ToolResults(_) => None,
    }
}
