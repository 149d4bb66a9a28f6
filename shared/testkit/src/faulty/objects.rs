//! The bucket with faults, and with the bugs of planted ones.

use std::time::Duration;

use agent::outcome::answer::File;
use bytes::Bytes;
use protocol::{
    id::{SessionKey, TurnKey},
    payload::{Kind, MAX_INLINE_REQUEST_BYTES, Payload},
    purge::PurgeEntry,
};
use turns::ports::{ArchivedObject, Link, Object, Page, PayloadReads, Payloads, Unavailable};

use super::{Faulty, reads, writes};
use crate::{
    fault::Effect,
    ledger::Event,
    memory::Objects,
    planted_bugs::{Bug, without_server_share},
};

impl Faulty<Objects> {
    /// Returns the key under which the port stores an object.
    fn key(&self, payload: &Payload) -> Payload {
        Bug::key(self.bug.as_ref().map(|planted| planted.bug), payload)
    }
}

impl PayloadReads for Faulty<Objects> {
    reads! {
        FindPayload: link(payload: &Payload) -> Option<Link>;
        GetPayload: read(payload: &Payload, limit: u64) -> Option<Object>;
        FindPayload: objects(turn: &TurnKey, after: Option<String>) -> Page<ArchivedObject>;
    }

    async fn get(&self, payload: &Payload) -> Result<Option<Bytes>, Unavailable> {
        let payload = self.key(payload);
        if self.bug.as_ref().is_some_and(|planted| planted.overlooks(&payload)) {
            return Ok(None);
        }
        self.read(Effect::GetPayload, self.inner.get(&payload)).await
    }

    fn at(&self, turn: &TurnKey, place: &str) -> Option<Payload> {
        self.inner.at(turn, place)
    }
}

impl Payloads for Faulty<Objects> {
    reads! {
        ListVersions: versions(session: &SessionKey) -> Vec<PurgeEntry>;
    }

    writes! {
        RemoveVersions: remove_versions(versions: [PurgeEntry]) -> (), Unavailable;
    }

    async fn put(&self, payload: &Payload, mut body: Bytes) -> Result<(), Unavailable> {
        let (inner, payload) = (self.inner.clone(), self.key(payload));
        match payload.kind {
            Kind::Outcome(_) if self.has(Bug::MetadataBeforePayload) => {
                self.process.clock().apply_later(Duration::from_secs(2), async move {
                    let _ = inner.put(&payload, body).await;
                });
                return Ok(());
            }
            Kind::Outcome(_) if self.has(Bug::ServerShareForgotten) => {
                body = without_server_share(&body).unwrap_or(body);
            }
            Kind::Round(..) if self.has(Bug::RoundUnstored) => return Ok(()),
            Kind::Instruction(_)
                if self.has(Bug::InlineRequestNotPublished) && body.len() <= MAX_INLINE_REQUEST_BYTES =>
            {
                return Ok(());
            }
            _ => {}
        }
        let key = payload.clone();
        self.write(Effect::PutPayload, async move { inner.put(&key, body).await }).await?;
        self.process.ledger().record(Event::StoreAcknowledged(payload));
        Ok(())
    }

    async fn put_file(&self, file: &File) -> Result<(), Unavailable> {
        // Fault injection ignores media types.
        self.put(&file.payload, file.bytes.clone()).await
    }

    async fn remove(&self, payload: &Payload) -> Result<(), Unavailable> {
        let (inner, key) = (self.inner.clone(), self.key(payload));
        self.write(Effect::RemovePayload, async move { inner.remove(&key).await }).await
    }
}
