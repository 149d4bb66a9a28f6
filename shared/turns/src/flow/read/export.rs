//! Streams sessions as export documents. Memory use is bounded by one page of a list or one payload at a time.
//!
//! A caller who may read a session may export what reads show of it. Operators also get the stored items that an
//! import needs.

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
    turn::{State, Verdict},
};
use serde::{Deserialize, Serialize};

use crate::{
    flow::{
        access,
        finish::{evidence, outcomes},
        read::{lists::SessionFilter, session_reader::SessionReader, sessions::TurnsPage},
        stored_request,
    },
    ports::{Archive, ArchivedObject, Order, Payloads, Reads, Record, Timer, Unavailable},
    refusal::Refusal,
    view,
};

/// The number of list items to hold at a time.
const PAGE_SIZE: usize = 20;

/// The size in bytes after which an org's export ends with a token. One session may follow after this limit.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The size in bytes after which the document of one session in an org's export ends with a link. Lambda streams at most
/// 200 MB, and one payload may follow after this limit.
const MAX_SESSION_BYTES: u64 = 32 * 1024 * 1024;

/// Returns true if a document must end, given the number of bytes written so far.
type IsOver<'a> = &'a (dyn Fn(u64) -> bool + Sync);

/// The way an export includes payloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PayloadMode {
    /// Inline, in full.
    Inline,
    /// As links.
    Links,
}

/// The position of an org's export: a page of the session list, and the last session of it that was written.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct ExportCursor(Option<String>, Option<SessionId>);

/// The result of one call of an org's export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportPage {
    /// The number of sessions that were written.
    pub sessions: u64,
    /// The token for the next call; none if these were the last sessions.
    pub next_token: Option<String>,
}

impl<R: Reads + Archive, P: Payloads> SessionReader<R, P> {
    /// Reads the session to export, without its turns.
    ///
    /// # Errors
    /// If this caller has no such session.
    pub async fn begin_export(&self, caller: &Caller, id: SessionId) -> Result<AgentSession, Refusal> {
        let none = TurnsPage { order: Order::OldestFirst, size: 0, token: None };
        let session = self.read_session(caller, id, none).await?.0.result;
        access::audit_session("export", caller, &session.id);
        Ok(AgentSession {
            mode_history: Vec::new(),
            mode_history_continuation_token: None,
            turns: Vec::new(),
            continuation_token: None,
            ..session
        })
    }

    /// Writes a session's export document.
    ///
    /// # Errors
    /// If a read fails. The document is incomplete then.
    pub async fn export(
        &self,
        caller: &Caller,
        session: &AgentSession,
        values: PayloadMode,
        out: &mut ExportWriter,
    ) -> Result<(), ExportError> {
        self.export_within(caller, session, values, &|_| false, out).await
    }

    /// Writes a session's export document. Ends it with a link to the session's own export once it is over its bound.
    async fn export_within(
        &self,
        caller: &Caller,
        session: &AgentSession,
        values: PayloadMode,
        is_over: IsOver<'_>,
        out: &mut ExportWriter,
    ) -> Result<(), ExportError> {
        let key = SessionKey { org: caller.org.clone(), session: session.id.clone() };
        out.text("{\"Format\":").await?;
        out.json(&ExportFormat::Session).await?;
        out.text(",\"Session\":").await?;
        out.json(session).await?;
        out.text(",\"ModeHistory\":[").await?;
        self.export_modes(caller, &key, is_over, &mut out.list()).await?;
        out.text("],\"Turns\":[").await?;
        let (mut after, mut is_complete) = (None, true);
        let mut turns = out.list();
        'turns: loop {
            let records = self.store.records(&key, after, Order::OldestFirst, PAGE_SIZE).await?;
            for record in &records {
                is_complete &= !is_over(turns.written())
                    && self.export_turn(caller, record, values, is_over, turns.next().await?).await?;
                if !is_complete {
                    break 'turns;
                }
            }
            match records.last() {
                Some(last) => after = Some(last.turn.sequence),
                None => break,
            }
        }
        if !is_complete {
            let export = paths::SESSION_EXPORT.fill(&session.id);
            out.text("],\"RemainderUrl\":").await?;
            out.json(&format!("{}?payloads=links", export.trim_start_matches('/'))).await?;
            return out.text("}").await;
        }
        if caller.operator && values == PayloadMode::Inline {
            out.text("],\"Stored\":[").await?;
            let (mut items, mut after) = (out.list(), None);
            loop {
                let page = self.store.stored_items(&key, after).await?;
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
        is_over: IsOver<'_>,
        out: &mut JsonList<'_>,
    ) -> Result<(), ExportError> {
        let mut before: Option<String> = None;
        loop {
            let size = u32::try_from(PAGE_SIZE).unwrap_or(u32::MAX);
            let page = self.mode_history(caller, key.session.clone(), size, before.as_deref()).await?;
            for change in &page.items {
                out.item(change).await?;
            }
            before = page.continuation_token;
            if before.is_none() || is_over(out.written()) {
                return Ok(());
            }
        }
    }

    /// Writes a turn. Returns false if it is over the bound before all payloads are written.
    async fn export_turn(
        &self,
        caller: &Caller,
        record: &Record,
        values: PayloadMode,
        is_over: IsOver<'_>,
        out: &mut ExportWriter,
    ) -> Result<bool, ExportError> {
        let report = evidence::load_report(&self.store, &self.payloads, record).await?;
        let turn: AgentSessionTurn = view::turn(record, &report, caller.operator);
        out.text("{\"Turn\":").await?;
        out.json(&turn).await?;
        out.text(",\"Feedback\":[").await?;
        let (mut list, mut after) = (out.list(), None::<UserId>);
        loop {
            let feedback = self.store.feedback(&record.turn.key, after.as_ref(), PAGE_SIZE).await?;
            after = feedback.last().map(|last| last.by.id.clone());
            for feedback in feedback {
                list.item(&view::feedback(feedback)).await?;
            }
            if after.is_none() {
                break;
            }
        }
        out.text("],\"Payloads\":[").await?;
        if let Some(answer) = record.turn.answer() {
            outcomes::store_answer(&self.payloads, &answer).await?;
        }
        if !matches!(record.turn.state, State::Finalized(_)) {
            let object = stored_request::payload(&record.turn);
            stored_request::publish(&self.payloads, &object, Some(&record.request)).await?;
        }
        let (mut list, mut after, mut is_complete) = (out.list(), None, true);
        'objects: loop {
            let page = self.payloads.objects(&record.turn.key, after).await?;
            for placed in page.items {
                if is_over(list.written()) {
                    is_complete = false;
                    break 'objects;
                }
                let raw = report.last_raw_payload.filter(|_| caller.operator);
                let url = url_of(record, &placed.payload.kind, raw);
                let is_included = match values {
                    PayloadMode::Inline if caller.operator => record.turn.references(&placed.payload.kind),
                    PayloadMode::Inline | PayloadMode::Links => url.is_some(),
                };
                if is_included && let Some(payload) = self.export_payload(placed, url, values).await? {
                    list.item(&payload).await?;
                }
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        out.text("]}").await?;
        Ok(is_complete)
    }

    /// Reads a payload; none if it was removed meanwhile.
    async fn export_payload(
        &self,
        ArchivedObject { payload, place, size }: ArchivedObject,
        url: Option<String>,
        values: PayloadMode,
    ) -> Result<Option<ExportedPayload>, Unavailable> {
        let Some(kind) = kind_of(&payload) else {
            return Ok(None);
        };
        let linked = ExportedPayload {
            kind,
            name: payload.kind.file_name().to_owned(),
            object: place,
            size_bytes: size,
            mime_type: None,
            sha256: None,
            text: None,
            base64: None,
            url,
        };
        if values == PayloadMode::Links {
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

    /// Writes the documents of the sessions of the caller's org, newest activity first, one per line. It ends with a
    /// token when half of the time, or the response size, is used up. A session that takes more than another quarter of
    /// the time, or is too large, ends with a link, so no session keeps the export from going on.
    ///
    /// # Errors
    /// If the token isn't from an export, or a read fails.
    pub async fn export_all(
        &self,
        caller: &Caller,
        filter: &SessionFilter,
        values: PayloadMode,
        token: Option<&str>,
        (timer, budget): (&impl Timer, Duration),
        out: &mut ExportWriter,
    ) -> Result<ExportPage, ExportError> {
        let ExportCursor(mut list, mut last_written) = match token {
            Some(token) => serde_json::from_str(token).map_err(|_| Refusal::invalid_continuation_token())?,
            None => ExportCursor::default(),
        };
        let begun = timer.monotonic();
        let (ends, session_ends) = (begun.saturating_add(budget / 2), begun.saturating_add(budget / 4 * 3));
        let (mut exported, mut looked_at) = (ExportPage { sessions: 0, next_token: None }, 0u64);
        loop {
            let user = filter.user.as_ref();
            let page = self.store.sessions(&caller.org, user, &filter.active, PAGE_SIZE, list.clone()).await;
            let page = page.map_err(Refusal::from)?;
            let resume_after = last_written.take();
            let resume_at = page.items.iter().position(|one| Some(&one.key.session) == resume_after.as_ref());
            for session in page.items.iter().skip(resume_at.map_or(0, |resume_at| resume_at + 1)) {
                let id = &session.key.session;
                let is_full = out.written >= MAX_BYTES || timer.monotonic() >= ends;
                if is_full && looked_at > 0 {
                    exported.next_token = serde_json::to_string(&ExportCursor(list, last_written)).ok();
                    return Ok(exported);
                }
                looked_at += 1;
                if filter.matches(session) {
                    match self.begin_export(caller, id.clone()).await {
                        // Purged since the list was read.
                        Err(Refusal::SessionNotFound) => {}
                        opened => {
                            let most = out.written.saturating_add(MAX_SESSION_BYTES);
                            let is_over = |written| written >= most || timer.monotonic() >= session_ends;
                            self.export_within(caller, &opened?, values, &is_over, out).await?;
                            out.text("\n").await?;
                            exported.sessions += 1;
                        }
                    }
                }
                last_written = Some(id.clone());
            }
            (list, last_written) = (page.next, None);
            if list.is_none() {
                return Ok(exported);
            }
        }
    }
}

/// Returns the kind of a payload in an export; none if exports leave it out.
fn kind_of(payload: &Payload) -> Option<PayloadKind> {
    Some(match payload.kind {
        Kind::Instruction(_) => PayloadKind::Instruction,
        Kind::Outcome(_) => PayloadKind::Outcome,
        Kind::Step(..) => PayloadKind::Step,
        Kind::ToolResults(_) => PayloadKind::ToolResults,
        Kind::Answer(_) => PayloadKind::Answer,
        Kind::PartialAnswer(_) => PayloadKind::PartialAnswer,
        Kind::ModelRequest(..) => PayloadKind::LlmRequest,
        Kind::ModelResponse(..) => PayloadKind::LlmResponse,
        Kind::Round(..) => PayloadKind::Round,
        Kind::EffectResult(..) => PayloadKind::EffectResult,
        // A copy of what other objects have.
        Kind::History(_) => return None,
        Kind::File { .. } => PayloadKind::File,
    })
}

/// Returns the URL path of a payload; none if no read shows it.
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
        | Kind::Round(..)
        | Kind::EffectResult(..)
        | Kind::ToolResults(_)
        | Kind::History(_) => None,
    }
}

/// An error that ends an export early. The document written so far is incomplete.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The client disconnected.
    #[error("the client disconnected")]
    Disconnected,
    /// A read failed or was refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl From<Unavailable> for ExportError {
    fn from(error: Unavailable) -> Self {
        Self::Refused(error.into())
    }
}

/// The writer of an export. It buffers one chunk that isn't read yet.
#[derive(Debug)]
pub struct ExportWriter {
    sender: mpsc::Sender<Bytes>,
    /// The number of bytes so far.
    pub(super) written: u64,
}

/// Returns the output of `write` as a stream. `write` runs only while the stream is read.
pub fn export_stream<F>(
    write: impl FnOnce(ExportWriter) -> F,
) -> impl Stream<Item = Result<Bytes, ExportError>>
where
    F: Future<Output = Result<(), ExportError>>,
{
    let (pieces, read) = mpsc::channel(0);
    let work = stream::once(write(ExportWriter { sender: pieces, written: 0 }));
    let failed = work.filter_map(|done| async { done.err().map(Err) });
    stream::select(read.map(Ok), failed)
}

impl ExportWriter {
    /// Writes text that is JSON already.
    pub(super) async fn text(&mut self, text: &'static str) -> Result<(), ExportError> {
        self.bytes(Bytes::from_static(text.as_bytes())).await
    }

    async fn bytes(&mut self, bytes: Bytes) -> Result<(), ExportError> {
        self.written = self.written.saturating_add(bytes.len() as u64);
        self.sender.send(bytes).await.map_err(|_| ExportError::Disconnected)
    }

    /// Writes a value as JSON.
    pub(super) async fn json(&mut self, value: &impl Serialize) -> Result<(), ExportError> {
        // The contract's types consist of strings, numbers and lists, so they always serialize.
        self.bytes(serde_json::to_vec(value).unwrap_or_default().into()).await
    }

    /// Writes a value as one line of JSON.
    ///
    /// # Errors
    /// If the client disconnected.
    pub async fn line(&mut self, value: &impl Serialize) -> Result<(), ExportError> {
        self.json(value).await?;
        self.text("\n").await
    }

    /// Starts the items of an array.
    pub(super) fn list(&mut self) -> JsonList<'_> {
        JsonList { out: self, has_items: false }
    }
}

/// A JSON array's items, separated by commas.
pub(super) struct JsonList<'a> {
    out: &'a mut ExportWriter,
    has_items: bool,
}

impl JsonList<'_> {
    /// Returns the number of bytes that the document has so far.
    pub(super) fn written(&self) -> u64 {
        self.out.written
    }

    /// Returns the writer for the next item.
    pub(super) async fn next(&mut self) -> Result<&mut ExportWriter, ExportError> {
        if std::mem::replace(&mut self.has_items, true) {
            self.out.text(",").await?;
        }
        Ok(self.out)
    }

    /// Writes the next item.
    pub(super) async fn item(&mut self, value: &impl Serialize) -> Result<(), ExportError> {
        self.next().await?.json(value).await
    }
}
