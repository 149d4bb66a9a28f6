//! Whole sessions: copies of stored ones, and their restoration.

use std::collections::BTreeMap;

use agent::outcome::answer::File;
use bytes::Bytes;
use contracts::Fingerprint;
use protocol::{
    id::{SessionKey, TurnKey},
    payload::{Kind, Payload},
    session::Session,
    turn::{State, Turn},
};
use turns::ports::{ArchiveItem, ArchivedSession};

use super::{Contents, Objects, Table};
use crate::ledger::Event;

impl Table {
    /// Writes an item whatever is stored.
    pub(crate) fn restore(&self, item: &ArchiveItem) {
        let mut contents = self.contents();
        match item.clone() {
            ArchiveItem::Session(session) => {
                contents.sessions.insert(session.key.clone(), *session);
            }
            ArchiveItem::Turn(turn) => {
                let before = contents.heads.insert(turn.key.clone(), (*turn).clone());
                if before.as_ref() != Some(&*turn) {
                    self.ledger.record(Event::Restored(turn.key.clone()));
                    self.ledger.record(Event::Head { before, after: *turn });
                }
            }
            ArchiveItem::Request(request) => {
                contents.requests.insert(request.key.clone(), *request);
            }
            ArchiveItem::Result(result) => {
                self.ledger.record(Event::Result((*result).clone()));
                contents.results.insert(result.key.clone(), *result);
            }
            ArchiveItem::Participant(participant) => {
                let key = (participant.session.clone(), participant.user.clone());
                contents.participants.insert(key, participant);
            }
            ArchiveItem::Feedback(feedback) => {
                contents.feedback.insert((feedback.turn.clone(), feedback.by.id.clone()), feedback);
            }
            ArchiveItem::ModeChange(change) => {
                contents.modes.insert((change.key.session.clone(), change.position), change);
            }
            ArchiveItem::Intent(intent) => {
                contents.intents.insert((intent.turn.clone(), intent.round), intent);
            }
        }
    }
}

impl Contents {
    /// Returns a copy of a session under another id, as an export and its import make one. `None` while a turn of it
    /// isn't over.
    #[must_use]
    pub fn copy_of(&self, from: &SessionKey, to: &SessionKey, objects: &Objects) -> Option<ArchivedSession> {
        let stored = self.sessions.get(from).filter(|session| !session.is_purged())?;
        let of = |key: &TurnKey| key.session == *from;
        let turn_key = |key: &TurnKey| to.turn(key.turn.clone());
        let is_over = |turn: &Turn| matches!(turn.state, State::Settled(_) | State::Finalized(_));
        let heads = || self.heads.values().filter(|turn| of(&turn.key));
        if !heads().all(is_over) {
            return None;
        }
        let mut items: Vec<ArchiveItem> = Vec::new();
        // An export creates the objects of inline requests.
        let inline = self.requests.values().filter(|request| of(&request.key)).filter_map(|request| {
            let kind = Kind::Instruction(self.heads.get(&request.key)?.stored_request());
            Some((Payload { turn: request.key.clone(), kind }, request.inline_json.clone()?.into()))
        });
        let mut payloads: BTreeMap<Payload, Bytes> = inline.collect();
        items.extend(self.requests.values().filter(|request| of(&request.key)).cloned().map(
            |mut request| {
                request.key = turn_key(&request.key);
                // An export has its object.
                request.inline_json = None;
                ArchiveItem::Request(Box::new(request))
            },
        ));
        items.extend(self.results.values().filter(|result| of(&result.key)).cloned().map(|mut result| {
            result.key = turn_key(&result.key);
            ArchiveItem::Result(Box::new(result))
        }));
        items.extend(self.participants.values().filter(|one| one.session == *from).cloned().map(
            |mut one| {
                one.session = to.clone();
                ArchiveItem::Participant(one)
            },
        ));
        items.extend(self.modes.values().filter(|change| of(&change.key)).cloned().map(|mut change| {
            change.key = turn_key(&change.key);
            ArchiveItem::ModeChange(change)
        }));
        items.extend(self.intents.values().filter(|intent| of(&intent.turn)).cloned().map(|mut intent| {
            intent.turn = turn_key(&intent.turn);
            ArchiveItem::Intent(intent)
        }));
        items.extend(heads().cloned().map(|mut turn| {
            turn.key = turn_key(&turn.key);
            // An import counts in no meter: its model calls were made before.
            turn.meters.clear();
            ArchiveItem::Turn(Box::new(turn))
        }));
        let stored_objects = objects.stored();
        let of_session = stored_objects.iter().filter(|(payload, _)| of(&payload.turn));
        payloads.extend(of_session.map(|(payload, bytes)| (payload.clone(), bytes.clone())));
        let files = payloads.into_iter().map(|(payload, bytes)| File {
            media_type: payload.kind.media_type().to_owned(),
            payload: Payload { turn: turn_key(&payload.turn), kind: payload.kind },
            bytes,
        });
        let files = files.collect();
        let session = Session { key: to.clone(), ..stored.clone() };
        let fingerprint = Fingerprint::hash_bytes(format!("{session:?}{items:?}").as_bytes());
        Some(ArchivedSession { session, fingerprint, items, files })
    }
}
