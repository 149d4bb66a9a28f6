//! The bucket behind faults.

use agent::answer::File;
use bytes::Bytes;
use protocol::payload::Payload;
use turns::ports::{Link, PayloadReads, Payloads, Unavailable};

use super::Faulty;
use crate::fault::Effect;
use crate::ledger::Event;

impl<P: PayloadReads + Clone + 'static> PayloadReads for Faulty<P> {
    async fn get(&self, payload: &Payload) -> Result<Option<Bytes>, Unavailable> {
        self.read(Effect::GetPayload, self.inner.get(payload)).await
    }

    async fn exists(&self, payload: &Payload) -> Result<bool, Unavailable> {
        self.read(Effect::FindPayload, self.inner.exists(payload)).await
    }

    async fn link(&self, payload: &Payload) -> Result<Option<Link>, Unavailable> {
        self.read(Effect::FindPayload, self.inner.link(payload)).await
    }
}

impl<P: Payloads + Clone + 'static> Payloads for Faulty<P> {
    async fn put(&self, payload: &Payload, body: Bytes) -> Result<(), Unavailable> {
        let (inner, key) = (self.inner.clone(), payload.clone());
        self.put(Effect::PutPayload, async move { inner.put(&key, body).await }).await?;
        self.process.ledger().note(Event::StoreAcknowledged(payload.clone()));
        Ok(())
    }

    async fn put_file(&self, file: &File) -> Result<(), Unavailable> {
        // The faults know no media types.
        Payloads::put(self, &file.payload, file.bytes.clone()).await
    }

    async fn remove(&self, payload: &Payload) -> Result<(), Unavailable> {
        let (inner, key) = (self.inner.clone(), payload.clone());
        self.put(Effect::RemovePayload, async move { inner.remove(&key).await }).await
    }
}
