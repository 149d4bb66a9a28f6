//! The bucket: write-once objects.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agent::outcome::answer::File;
use bytes::Bytes;
use contracts::Timestamp;
use protocol::{
    id::{SessionKey, TurnKey},
    payload::Payload,
    purge::PurgeEntry,
};
use turns::ports::{
    ArchivedObject, Link, Object, PURGE_VERSION_PAGE_SIZE, Page, PayloadReads, Payloads, Unavailable,
};

use crate::ledger::{Event, Ledger};

/// The bucket. Clones share it.
#[derive(Debug, Clone)]
pub struct Objects {
    stored: Arc<Mutex<BTreeMap<Payload, Bytes>>>,
    ledger: Ledger,
}

impl Objects {
    #[must_use]
    pub fn new(ledger: Ledger) -> Self {
        Self { stored: Arc::default(), ledger }
    }

    /// Returns the stored objects.
    pub fn stored(&self) -> MutexGuard<'_, BTreeMap<Payload, Bytes>> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PayloadReads for Objects {
    async fn get(&self, payload: &Payload) -> Result<Option<Bytes>, Unavailable> {
        Ok(self.stored().get(payload).cloned())
    }

    async fn link(&self, payload: &Payload) -> Result<Option<Link>, Unavailable> {
        if !self.stored().contains_key(payload) {
            return Ok(None);
        }
        let url = format!("memory:{}/{:?}", payload.turn.turn, payload.kind);
        Ok(Some(Link { url, expires: Timestamp::from_millis(0) }))
    }

    async fn read(&self, payload: &Payload, limit: u64) -> Result<Option<Object>, Unavailable> {
        Ok(self.stored().get(payload).map(|bytes| {
            let (media_type, size) = (payload.kind.media_type().to_owned(), bytes.len() as u64);
            Object { media_type, size, bytes: (size <= limit).then(|| bytes.clone()) }
        }))
    }

    async fn objects(
        &self,
        turn: &TurnKey,
        after: Option<String>,
    ) -> Result<Page<ArchivedObject>, Unavailable> {
        let stored = self.stored();
        let of_turn = stored.iter().filter(|(payload, _)| payload.turn == *turn);
        let mut items: Vec<ArchivedObject> = of_turn
            .map(|(payload, bytes)| ArchivedObject {
                payload: payload.clone(),
                place: place(payload),
                size: bytes.len() as u64,
            })
            .filter(|object| after.as_ref().is_none_or(|after| object.place > *after))
            .collect();
        items.sort_by(|one, other| one.place.cmp(&other.place));
        Ok(Page { items, next: None })
    }

    fn at(&self, turn: &TurnKey, at: &str) -> Option<Payload> {
        let stored = self.stored();
        stored.keys().find(|payload| payload.turn == *turn && place(payload) == at).cloned()
    }
}

impl Payloads for Objects {
    async fn put(&self, payload: &Payload, body: Bytes) -> Result<(), Unavailable> {
        let mut stored = self.stored();
        if !stored.contains_key(payload) {
            stored.insert(payload.clone(), body.clone());
            self.ledger.record(Event::Stored { payload: payload.clone(), body });
        }
        Ok(())
    }

    async fn put_file(&self, file: &File) -> Result<(), Unavailable> {
        self.put(&file.payload, file.bytes.clone()).await
    }

    async fn remove(&self, payload: &Payload) -> Result<(), Unavailable> {
        if self.stored().remove(payload).is_some() {
            self.ledger.record(Event::Removed(payload.clone()));
        }
        Ok(())
    }

    async fn versions(&self, session: &SessionKey) -> Result<Vec<PurgeEntry>, Unavailable> {
        let stored = self.stored();
        let of_session = stored.iter().filter(|(payload, _)| payload.turn.session == *session);
        let mut entries: Vec<PurgeEntry> = of_session
            .map(|(payload, body)| PurgeEntry {
                sort_key: place(payload),
                kind: "objects",
                bytes: body.len() as u64,
                payload: Some(payload.clone()),
            })
            .collect();
        entries.sort_by(|one, other| one.sort_key.cmp(&other.sort_key));
        entries.truncate(PURGE_VERSION_PAGE_SIZE);
        Ok(entries)
    }

    async fn remove_versions(&self, versions: &[PurgeEntry]) -> Result<(), Unavailable> {
        self.stored().retain(|payload, _| !versions.iter().any(|entry| entry.sort_key == place(payload)));
        Ok(())
    }
}

/// Returns the place of an object in its session.
fn place(payload: &Payload) -> String {
    format!("{}/{:?}", payload.turn.turn, payload.kind)
}
