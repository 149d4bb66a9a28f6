//! Import: sessions of an export come back, in an org that has none of these ids.
//!
//! Everything is read and held against itself before anything is written. Then each session's place is taken, its objects
//! and items are written, and last the session itself: until then no read shows anything of it. The same import again
//! goes on where one broke off.

use std::collections::{BTreeMap, BTreeSet};

use agent::answer::File;
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use contracts::{
    FileAddress, Fingerprint,
    id::{SessionId, TurnId},
    paths,
    read::{ExportedPayload, ImportedSession, SessionExport, SessionImport},
};
use futures::{StreamExt, TryStreamExt, future::try_join, stream};
use protocol::{
    Caller,
    change::Commit,
    id::SessionKey,
    payload::{Kind, Payload},
    session::{Session, SolutionContext},
    transition::import::{self, Action},
    turn::{State, Turn, Verdict},
};

use super::{
    access,
    executor::Executor,
    export::for_operators,
    read::AT_ONCE,
    write::{self, Written},
};
use crate::{
    ports::{AgentDeps, Archive, Clock, Deps, Part, PayloadArchive, Payloads, Reads},
    refusal::Refusal,
};

/// How often an import decides anew because somebody else changed what is there.
const ROUNDS: usize = 8;

/// Under which ids sessions are imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ids {
    /// Their own.
    Keep,
    /// New ones. The same document gets the same, so that an import may be repeated.
    New,
}

/// A session as it is to be.
struct Prepared {
    exported_id: SessionId,
    session: Session,
    /// Everything else, in any order.
    parts: Vec<Part>,
    files: Vec<File>,
}

impl<D: AgentDeps + Deps<Store: Archive, Payloads: PayloadArchive>> Executor<D> {
    /// Makes the sessions of an export.
    ///
    /// # Errors
    /// When the caller is no operator, an export is not whole or contradicts itself, or one of the sessions is there
    /// already and is not the one that is imported. Then nothing was written.
    pub async fn import(
        &self,
        caller: &Caller,
        exports: Vec<SessionExport>,
        ids: Ids,
    ) -> Result<SessionImport, Refusal> {
        for_operators(caller)?;
        let renamed = renamed(caller, &exports, ids);
        let mut prepared = Vec::with_capacity(exports.len());
        for (number, export) in exports.into_iter().enumerate() {
            let read =
                Reading { store: self.deps.store(), payloads: self.deps.payloads(), renamed: &renamed };
            let one = read.prepared(caller, export);
            prepared.push(
                one.map_err(|Fault { at, rule }| Refusal::BadExport {
                    at: format!("[{number}].{at}"),
                    rule,
                })?,
            );
        }
        for one in &prepared {
            self.next(caller, &one.session).await?;
        }
        let mut sessions = Vec::with_capacity(prepared.len());
        for one in prepared {
            self.import_one(caller, &one).await?;
            sessions.push(ImportedSession {
                id: one.session.key.session.clone(),
                exported_id: one.exported_id,
                turn_count: one.session.turn_count,
            });
        }
        Ok(SessionImport { sessions })
    }

    async fn import_one(&self, caller: &Caller, one: &Prepared) -> Result<(), Refusal> {
        for _ in 0..ROUNDS {
            let Some(reserve) = self.next(caller, &one.session).await? else { return Ok(()) };
            if !matches!(write::commit(&self.deps, &reserve).await?, Written::Applied) {
                continue;
            }
            let payloads = self.deps.payloads();
            let files = one.files.iter().cloned();
            let files = files.map(|file| async move { payloads.put_file(&file).await });
            stream::iter(files).buffer_unordered(AT_ONCE).try_collect::<Vec<()>>().await?;
            let store = self.deps.store();
            let parts = one.parts.iter().cloned();
            let parts = parts.map(|part| async move { store.put_part(&part).await });
            stream::iter(parts).buffer_unordered(AT_ONCE).try_collect::<Vec<()>>().await?;
            let publish = import::publish(&reserve.session.after, &one.session, self.deps.host().now());
            if let Written::Applied = write::commit(&self.deps, &publish).await? {
                access::audit_whole("import", caller, &one.session.key.session);
                self.tell_index(&one.session.key).await;
                return Ok(());
            }
        }
        Err(Refusal::Contended)
    }

    /// What takes the session's place; nothing where it is there already.
    async fn next(&self, caller: &Caller, wanted: &Session) -> Result<Option<Commit>, Refusal> {
        let store = self.deps.store();
        let (there, purge) = try_join(store.session(&wanted.key), store.purge(&wanted.key)).await?;
        let now = self.deps.host().now();
        match import::action(there.as_ref(), purge.as_ref(), wanted, &caller.user.id, now) {
            Action::Reserve(commit) => Ok(Some(*commit)),
            Action::Rest => Ok(None),
            Action::Conflict => Err(Refusal::SessionIsThere(wanted.key.session.clone())),
            Action::Wait => Err(Refusal::SessionBeingPurged(wanted.key.session.clone())),
        }
    }
}

/// Which sessions get which ids.
type Renamed = BTreeMap<SessionId, SessionId>;

fn renamed(caller: &Caller, exports: &[SessionExport], ids: Ids) -> Renamed {
    let new = |export: &SessionExport| {
        let old = export.session.id.clone();
        let document = serde_json::to_vec(export).unwrap_or_default();
        let seed = format!("import\n{}\n{old}\n{}", caller.org, Fingerprint::of_bytes(&document));
        let digits: String = Fingerprint::of_bytes(seed.as_bytes()).to_string().chars().take(32).collect();
        Some((old, SessionId::new(digits).ok()?))
    };
    match ids {
        Ids::Keep => Renamed::new(),
        Ids::New => exports.iter().filter_map(new).collect(),
    }
}

/// What is wrong with an export, and where.
struct Fault {
    at: String,
    rule: String,
}

fn fault(at: impl Into<String>, rule: impl Into<String>) -> Fault {
    Fault { at: at.into(), rule: rule.into() }
}

/// Reads exports, and holds each against itself.
struct Reading<'a, S, P> {
    store: &'a S,
    payloads: &'a P,
    renamed: &'a Renamed,
}

impl<S: Archive, P: PayloadArchive> Reading<'_, S, P> {
    fn prepared(&self, caller: &Caller, export: SessionExport) -> Result<Prepared, Fault> {
        let exported_id = export.session.id;
        let session = self.renamed.get(&exported_id).unwrap_or(&exported_id).clone();
        let key = SessionKey { org: caller.org.clone(), session };
        let stored = export.stored.ok_or_else(|| {
            fault("Stored", "is absent: only what an operator exports with payloads=inline can be imported")
        })?;
        let (mut session, mut parts) = (None, Vec::with_capacity(stored.len()));
        for (number, item) in stored.into_iter().enumerate() {
            let part = self.store.part(&key, item);
            let part = part.map_err(|error| fault(format!("Stored[{number}]"), error.to_string()))?;
            match self.with_new_ids(part) {
                Part::Session(found) => session = Some(*found),
                part => parts.push(part),
            }
        }
        let session = session.ok_or_else(|| fault("Stored", "has no item of the session itself"))?;
        let heads = whole(&session, &parts)?;
        let mut files = Vec::new();
        for (number, turn) in export.turns.into_iter().enumerate() {
            let at = |rest: String| format!("Turns[{number}].{rest}");
            let head = heads.get(&turn.turn.id).ok_or_else(|| {
                fault(at("Turn".to_owned()), "is no turn that Stored has: export the session again")
            })?;
            for (number, payload) in turn.payloads.into_iter().enumerate() {
                let file = self.file(head, payload, &exported_id);
                files
                    .push(file.map_err(|one| fault(at(format!("Payloads[{number}].{}", one.at)), one.rule))?);
            }
        }
        let there: BTreeSet<&Payload> = files.iter().map(|file| &file.payload).collect();
        for head in heads.values() {
            if let Some(missing) = needed(head).find(|payload| !there.contains(payload)) {
                let rule = format!(
                    "lacks the {} of the turn {}: export the session again",
                    missing.kind.file_name(),
                    head.key.turn
                );
                return Err(fault("Turns", rule));
            }
        }
        Ok(Prepared { exported_id, session, parts, files })
    }

    fn file(&self, head: &Turn, payload: ExportedPayload, exported: &SessionId) -> Result<File, Fault> {
        let ExportedPayload { object, size_bytes, mime_type, sha256, text, base64, url, .. } = payload;
        let place = self.payloads.at(&head.key, &object).filter(|payload| head.needs(&payload.kind));
        let payload = place.ok_or_else(|| fault("Object", "is no object of this turn"))?;
        let bytes: Bytes = match (text, base64) {
            (Some(text), None) => text.into(),
            (None, Some(base64)) => {
                STANDARD.decode(base64).map_err(|_| fault("Base64", "is no base64"))?.into()
            }
            _ if url.is_some() => {
                return Err(fault(
                    "Url",
                    "is a link, and links can't be imported: export with payloads=inline",
                ));
            }
            _ => return Err(fault("Text", "must be there, or Base64 in its place, and not both")),
        };
        if bytes.len() as u64 != size_bytes {
            return Err(fault("SizeBytes", format!("does not fit: there are {} bytes", bytes.len())));
        }
        if sha256 != Some(FileAddress::of_bytes(&bytes)) {
            return Err(fault("Sha256", "is not the hash of what is there"));
        }
        if matches!(&payload.kind, Kind::File { address, .. } if Some(*address) != sha256) {
            return Err(fault("Object", "is the place of a file of another hash"));
        }
        let own = mime_type.filter(|_| matches!(payload.kind, Kind::File { .. }));
        let media_type = own.unwrap_or_else(|| payload.kind.media_type().to_owned());
        let bytes = match &payload.kind {
            // A model wrote it: it is what its hash says.
            Kind::File { .. } | Kind::ModelRequest(..) | Kind::ModelResponse(..) => bytes,
            _ => self.with_new_links(bytes, exported, &head.key.session.session),
        };
        Ok(File { payload, media_type, bytes })
    }

    /// The same, where it names other sessions of the import by their new ids.
    fn with_new_ids(&self, part: Part) -> Part {
        let new = |id: &mut SessionId| {
            if let Some(new) = self.renamed.get(id) {
                id.clone_from(new);
            }
        };
        match part {
            Part::Session(mut session) => {
                session.tip.iter_mut().filter_map(|tip| tip.session.as_mut()).for_each(new);
                session.forked_from.iter_mut().for_each(|origin| new(&mut origin.session));
                let solution = |of: &mut SolutionContext| of.session.iter_mut().for_each(new);
                session.solution.iter_mut().for_each(solution);
                Part::Session(session)
            }
            Part::Turn(mut turn) => {
                turn.after.session.iter_mut().for_each(new);
                Part::Turn(turn)
            }
            part => part,
        }
    }

    /// The same text, where it links to the session's files or names it, under its new id.
    fn with_new_links(&self, bytes: Bytes, old: &SessionId, new: &SessionId) -> Bytes {
        if old == new {
            return bytes;
        }
        let Ok(text) = std::str::from_utf8(&bytes) else { return bytes };
        let folder = |id: &SessionId| format!("{}/", paths::SESSION.of(id).trim_start_matches('/'));
        // The service writes it without blanks; in a text that is quoted, the quotes are escaped.
        let member = |id: &SessionId| format!("\"SessionId\":\"{id}\"");
        text.replace(&folder(old), &folder(new)).replace(&member(old), &member(new)).into()
    }
}

/// The heads of a session that is whole: every turn is there, is over, and has what was asked.
fn whole<'a>(session: &Session, parts: &'a [Part]) -> Result<BTreeMap<TurnId, &'a Turn>, Fault> {
    let (mut heads, mut asked, mut numbers) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
    for part in parts {
        match part {
            Part::Turn(head) => {
                numbers.insert(head.sequence);
                heads.insert(head.key.turn.clone(), &**head);
            }
            Part::Request(request) => {
                asked.insert(&request.key.turn);
            }
            _ => {}
        }
    }
    if session.is_purged() {
        return Err(fault("Stored", "is of a session that was purged"));
    }
    let all = (1..=session.turn_count).all(|number| numbers.contains(&number));
    if !all || numbers.len() as u64 != session.turn_count || heads.len() != numbers.len() {
        return Err(fault("Stored", "has not the turns that the session counts: export the session again"));
    }
    for (turn, head) in &heads {
        if matches!(head.state, State::Running { .. } | State::AwaitingTools { .. }) {
            let rule = format!("has the turn {turn}, which is not over: export the session again once it is");
            return Err(fault("Stored", rule));
        }
        if !asked.contains(turn) {
            return Err(fault("Stored", format!("has not what was asked in the turn {turn}")));
        }
    }
    Ok(heads)
}

/// What reads and later turns need of a turn's objects.
fn needed(head: &Turn) -> impl Iterator<Item = Payload> {
    let verdict = head.settlement().map(|settlement| &settlement.verdict);
    let outcome = verdict.and_then(Verdict::writer).map(|writer| Kind::Outcome(writer.clone()));
    let kinds = [Some(Kind::Instruction(head.stored_request())), outcome];
    kinds.into_iter().flatten().map(|kind| Payload { turn: head.key.clone(), kind })
}
