//! Reads export documents: parses and validates them, and gives sessions their new ids.

use std::collections::{BTreeMap, BTreeSet};

use agent::{
    attempt::RecoveryPoint,
    outcome::{Outcome, answer::File, provider_response},
    tool::remote::RemoteOutcome,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use contracts::{
    FileAddress, Fingerprint, Timestamp, UserTurn,
    id::SessionId,
    json_bytes, paths,
    read::{ExportedPayload, SessionExport},
    text::one_line,
};
use protocol::{
    Caller,
    id::SessionKey,
    payload::{Kind, Payload},
    session::{Session, SolutionContext},
    turn::{State, Turn},
};

use crate::{
    flow::admin::{
        document_check::{self, Fault, fault},
        item_check::ItemCheck,
    },
    ports::{Archive, ArchiveItem, ArchivedSession, PayloadReads},
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
    pub(super) now: Timestamp,
}

impl<S: Archive, P: PayloadReads> ExportReader<'_, S, P> {
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
            let at = format!("Stored[{number}]");
            let part = self.store.parse_item(&key, item).map_err(|error| fault(&at, error.to_string()))?;
            let part = self.remap_ids(part);
            ItemCheck::new(&at, self.now).part(&part)?;
            match part {
                ArchiveItem::Session(found) => session = Some((at, *found)),
                part => parts.push((number, part)),
            }
        }
        let (at, session) = session.ok_or_else(|| fault("Stored", "lacks the item of the session"))?;
        let heads = document_check::checked_heads(&at, &session, &parts)?;
        let session = document_check::with_sums(session, &parts, &heads);
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
            if let Some(missing) =
                document_check::required_payloads(head, &parts).find(|payload| !present.contains(payload))
            {
                let rule = format!(
                    "lacks the {} of the turn {}: export the session again",
                    missing.kind.file_name(),
                    head.key.turn
                );
                return Err(fault("Turns", rule));
            }
        }
        let session = Session { chain: None, name: one_line(&session.name), ..session };
        let mut items: Vec<ArchiveItem> =
            parts.into_iter().map(|(_, part)| as_imported(part, self.now)).collect();
        // Whatever a head refers to is written before it (I10).
        items.sort_by_key(|part| matches!(part, ArchiveItem::Turn(_)));
        Ok(PreparedSession { exported_id, archived: ArchivedSession { session, fingerprint, items, files } })
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
            Kind::Outcome(_) | Kind::Step(..) | Kind::Round(..) => {
                self.check_work(&payload.kind, &bytes)?;
                let bytes = self.remap_links(bytes, exported, &head.key.session.session);
                provider_response::as_imported(&bytes).ok_or_else(|| {
                    fault("Text", "names a response of a provider in another way than the service writes it")
                })?
            }
            Kind::Instruction(_) if UserTurn::from_canonical(&bytes).is_err() => {
                return Err(fault("Text", "is not a request as the service writes it"));
            }
            Kind::EffectResult(..) if RemoteOutcome::from_json(&bytes).is_err() => {
                return Err(fault("Text", "is not a result as the service writes it"));
            }
            _ => self.remap_links(bytes, exported, &head.key.session.session),
        };
        Ok(File { payload, media_type, bytes })
    }

    /// Validates the report that a finalization would read from an object. It reads no step that isn't as the service
    /// writes it, but fails at such a round.
    fn check_work(&self, kind: &Kind, bytes: &[u8]) -> Result<(), Fault> {
        let summary = match kind {
            Kind::Step(..) => {
                json_bytes::from_slice(bytes).ok().map(|step: RecoveryPoint| step.outcome_summary())
            }
            Kind::Round(_, round) => {
                let step = json_bytes::from_slice(bytes).ok();
                let step = step.filter(|step: &RecoveryPoint| step.state.rounds.count == *round);
                let step = step.ok_or_else(|| fault("Text", "is not a round as the service writes it"))?;
                Some(step.outcome_summary())
            }
            _ => {
                let outcome = Outcome::from_json(bytes).map_err(|error| fault("Text", error.to_string()))?;
                Some(outcome.outcome_summary())
            }
        };
        let check = ItemCheck::new("Text", self.now);
        summary.map_or(Ok(()), |summary| check.report(&summary.report))
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
                session.cutoff.iter_mut().for_each(|cutoff| new(&mut cutoff.session));
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

/// Returns an item as it is imported. Provider responses are only shown: they belong to the exported session, are never
/// sent to the provider, and a purge doesn't remove them there. Meters belong to the exporting service, and a settled turn
/// is finalized at once.
fn as_imported(mut part: ArchiveItem, now: Timestamp) -> ArchiveItem {
    match &mut part {
        ArchiveItem::Turn(turn) => {
            turn.meters.clear();
            turn.is_imported = true;
            turn.is_unstored = false;
            // Nothing here computed it from the answer.
            turn.answer = None;
            turn.due = matches!(turn.state, State::Settled(_)).then_some(now);
        }
        ArchiveItem::Result(result) => {
            let report = &mut result.report;
            report.imported_response_id = report.response_id.take().or(report.imported_response_id.take());
        }
        _ => {}
    }
    part
}
