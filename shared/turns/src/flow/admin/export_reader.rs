//! Reads export documents: parses and validates them, and gives sessions their new ids.

use std::collections::{BTreeMap, BTreeSet};

use agent::outcome::{answer::File, provider_response};
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use contracts::{
    FileAddress, Fingerprint,
    id::{SessionId, TurnId},
    paths,
    read::{ExportedPayload, SessionExport},
};
use protocol::{
    Caller,
    id::SessionKey,
    payload::{Kind, Payload},
    session::{Session, SolutionContext},
    turn::{State, Turn, Verdict},
};

use crate::{
    flow::admin::document_check::{self, Fault, fault},
    ports::{Archive, ArchiveItem, ArchivedSession, PayloadArchive},
};

/// The ids under which sessions are imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdPolicy {
    /// The exported ids.
    Keep,
    /// New ids. They derive from the document, so an import can be repeated.
    New,
}

/// A validated session, ready to be written.
pub(super) struct PreparedSession {
    /// Its id in the export.
    pub(super) exported_id: SessionId,
    /// The session as it is imported.
    pub(super) archived: ArchivedSession,
}

/// The new ids of the sessions that get one.
pub(super) type IdMap = BTreeMap<SessionId, SessionId>;

/// Chooses the new ids.
pub(super) fn id_map(caller: &Caller, exports: &[SessionExport], ids: IdPolicy) -> IdMap {
    let new = |export: &SessionExport| {
        let old = export.session.id.clone();
        let document = serde_json::to_vec(export).unwrap_or_default();
        let seed = format!("import\n{}\n{old}\n{}", caller.org, Fingerprint::hash_bytes(&document));
        let digits: String = Fingerprint::hash_bytes(seed.as_bytes()).to_string().chars().take(32).collect();
        Some((old, SessionId::new(digits).ok()?))
    };
    match ids {
        IdPolicy::Keep => IdMap::new(),
        IdPolicy::New => exports.iter().filter_map(new).collect(),
    }
}

/// Parses and validates export documents.
pub(super) struct ExportReader<'a, S, P> {
    pub(super) store: &'a S,
    pub(super) payloads: &'a P,
    pub(super) id_map: &'a IdMap,
}

impl<S: Archive, P: PayloadArchive> ExportReader<'_, S, P> {
    /// Parses and validates the document of one session.
    pub(super) fn prepare(&self, caller: &Caller, export: SessionExport) -> Result<PreparedSession, Fault> {
        let fingerprint = self.fingerprint(&export);
        document_check::distinct_payloads(&export)?;
        let exported_id = export.session.id;
        let session = self.id_map.get(&exported_id).unwrap_or(&exported_id).clone();
        let key = SessionKey { org: caller.org.clone(), session };
        if export.remainder_url.is_some() {
            let rule = "is present, so the session is incomplete: export it alone";
            return Err(fault("RemainderUrl", rule));
        }
        let stored = export.stored.ok_or_else(|| {
            fault("Stored", "is absent: only what an operator exports with payloads=inline can be imported")
        })?;
        document_check::distinct_items(&stored)?;
        let (mut session, mut parts) = (None, Vec::with_capacity(stored.len()));
        for (number, item) in stored.into_iter().enumerate() {
            let part = self.store.parse_item(&key, item);
            let part = part.map_err(|error| fault(format!("Stored[{number}]"), error.to_string()))?;
            match without_provider_ids(self.remap_ids(part)) {
                ArchiveItem::Session(found) => {
                    document_check::session_texts(number, &found)?;
                    session = Some(*found);
                }
                part => {
                    document_check::item_values(number, &part)?;
                    parts.push(part);
                }
            }
        }
        let mut session = session.ok_or_else(|| fault("Stored", "lacks the item of the session"))?;
        // The document's own sums may be older than its feedback.
        session.ratings = parts.iter().filter_map(rating).collect();
        // Whatever a head refers to is written before it (I10).
        parts.sort_by_key(|part| matches!(part, ArchiveItem::Turn(_)));
        let heads = checked_heads(&session, &parts)?;
        let mut files = Vec::new();
        for (number, turn) in export.turns.into_iter().enumerate() {
            let at = |rest: String| format!("Turns[{number}].{rest}");
            let head = heads.get(&turn.turn.id).ok_or_else(|| {
                fault(at("Turn".to_owned()), "is not a turn in Stored: export the session again")
            })?;
            for (number, payload) in turn.payloads.into_iter().enumerate() {
                let file = self.file(head, payload, &exported_id);
                files
                    .push(file.map_err(|one| fault(at(format!("Payloads[{number}].{}", one.at)), one.rule))?);
            }
        }
        let present: BTreeSet<&Payload> = files.iter().map(|file| &file.payload).collect();
        for head in heads.values() {
            if let Some(missing) = required_payloads(head).find(|payload| !present.contains(payload)) {
                let rule = format!(
                    "lacks the {} of the turn {}: export the session again",
                    missing.kind.file_name(),
                    head.key.turn
                );
                return Err(fault("Turns", rule));
            }
        }
        Ok(PreparedSession {
            exported_id,
            archived: ArchivedSession { session, fingerprint, items: parts, files },
        })
    }

    /// Returns the hash of everything that an import of this document reads.
    fn fingerprint(&self, export: &SessionExport) -> Fingerprint {
        let objects: Vec<_> = export.turns.iter().map(|turn| (&turn.turn.id, &turn.payloads)).collect();
        let read = (&export.session.id, self.id_map, &export.stored, objects);
        Fingerprint::hash_bytes(&serde_json::to_vec(&read).unwrap_or_default())
    }

    fn file(&self, head: &Turn, payload: ExportedPayload, exported: &SessionId) -> Result<File, Fault> {
        let ExportedPayload { object, size_bytes, mime_type, sha256, text, base64, url, .. } = payload;
        let object_payload =
            self.payloads.at(&head.key, &object).filter(|payload| head.references(&payload.kind));
        let payload = object_payload.ok_or_else(|| fault("Object", "is not an object of this turn"))?;
        let bytes: Bytes = match (text, base64) {
            (Some(text), None) => text.into(),
            (None, Some(base64)) => {
                STANDARD.decode(base64).map_err(|_| fault("Base64", "is not valid Base64"))?.into()
            }
            _ if url.is_some() => {
                return Err(fault(
                    "Url",
                    "is a link, and links can't be imported: export with payloads=inline",
                ));
            }
            _ => return Err(fault("Text", "or Base64 must be present, and not both")),
        };
        if bytes.len() as u64 != size_bytes {
            return Err(fault(
                "SizeBytes",
                format!("does not match: the contents have {} bytes", bytes.len()),
            ));
        }
        if sha256 != Some(FileAddress::hash_bytes(&bytes)) {
            return Err(fault("Sha256", "is not the hash of the contents"));
        }
        if matches!(&payload.kind, Kind::File { address, .. } if Some(*address) != sha256) {
            return Err(fault("Object", "names a file with another hash"));
        }
        mime_type.as_deref().map_or(Ok(()), document_check::media_type)?;
        let own = mime_type.filter(|_| matches!(payload.kind, Kind::File { .. }));
        let media_type = own.unwrap_or_else(|| payload.kind.media_type().to_owned());
        let bytes = match &payload.kind {
            // Contents of files and raw payloads stay as they are: files are addressed by their hash.
            Kind::File { .. } | Kind::ModelRequest(..) | Kind::ModelResponse(..) => bytes,
            Kind::Outcome(_) | Kind::Step(..) => {
                let bytes = self.remap_links(bytes, exported, &head.key.session.session);
                provider_response::as_imported(&bytes).ok_or_else(|| {
                    fault("Text", "names a response of a provider in another way than the service writes it")
                })?
            }
            _ => self.remap_links(bytes, exported, &head.key.session.session),
        };
        Ok(File { payload, media_type, bytes })
    }

    /// Replaces references to sessions of this import with their new ids.
    fn remap_ids(&self, part: ArchiveItem) -> ArchiveItem {
        let new = |id: &mut SessionId| {
            if let Some(new) = self.id_map.get(id) {
                id.clone_from(new);
            }
        };
        match part {
            ArchiveItem::Session(mut session) => {
                session.tip.iter_mut().filter_map(|tip| tip.session.as_mut()).for_each(new);
                session.forked_from.iter_mut().for_each(|origin| new(&mut origin.session));
                let solution = |of: &mut SolutionContext| of.session.iter_mut().for_each(new);
                session.solution.iter_mut().for_each(solution);
                ArchiveItem::Session(session)
            }
            ArchiveItem::Turn(mut turn) => {
                turn.parent.session.iter_mut().for_each(new);
                ArchiveItem::Turn(turn)
            }
            part => part,
        }
    }

    /// Replaces the session's old id in file links and in its own member with the new id.
    fn remap_links(&self, bytes: Bytes, old: &SessionId, new: &SessionId) -> Bytes {
        if old == new {
            return bytes;
        }
        let Ok(text) = std::str::from_utf8(&bytes) else { return bytes };
        let folder = |id: &SessionId| format!("{}/", paths::SESSION.fill(id).trim_start_matches('/'));
        // The service writes the member without blanks. A quoted text can't match, because its quotes are escaped.
        let member = |id: &SessionId| format!("\"SessionId\":\"{id}\"");
        text.replace(&folder(old), &folder(new)).replace(&member(old), &member(new)).into()
    }
}

/// Returns an item whose provider responses are only shown: they belong to the exported session. They are never sent to
/// the provider, and a purge doesn't remove them there.
fn without_provider_ids(mut part: ArchiveItem) -> ArchiveItem {
    match &mut part {
        ArchiveItem::Session(session) => session.chain = None,
        ArchiveItem::Result(result) => {
            let report = &mut result.report;
            report.imported_response_id = report.response_id.take().or(report.imported_response_id.take());
        }
        _ => {}
    }
    part
}

/// Returns the rating of a feedback.
fn rating(part: &ArchiveItem) -> Option<u8> {
    match part {
        ArchiveItem::Feedback(feedback) => Some(feedback.rating),
        _ => None,
    }
}

/// Validates that every turn is present, has ended, and has its request. Returns the heads by turn id.
fn checked_heads<'a>(
    session: &Session,
    parts: &'a [ArchiveItem],
) -> Result<BTreeMap<TurnId, &'a Turn>, Fault> {
    let (mut heads, mut requests, mut numbers) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
    for part in parts {
        match part {
            ArchiveItem::Turn(head) => {
                numbers.insert(head.sequence);
                heads.insert(head.key.turn.clone(), &**head);
            }
            ArchiveItem::Request(request) => {
                requests.insert(&request.key.turn);
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
        if !requests.contains(turn) {
            return Err(fault("Stored", format!("lacks the request of the turn {turn}")));
        }
    }
    Ok(heads)
}

/// Returns the objects of a turn that reads and later turns require.
fn required_payloads(head: &Turn) -> impl Iterator<Item = Payload> {
    let verdict = head.settlement().map(|settlement| &settlement.verdict);
    let outcome = verdict.and_then(Verdict::writer).map(|writer| Kind::Outcome(writer.clone()));
    let kinds = [Some(Kind::Instruction(head.stored_request())), outcome];
    kinds.into_iter().flatten().map(|kind| Payload { turn: head.key.clone(), kind })
}
