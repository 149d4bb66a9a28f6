//! The bucket with faults.

use agent::outcome::answer::File;
use bytes::Bytes;
use contracts::Usage;
use protocol::{
    id::SessionKey,
    payload::Payload,
    purge::{DeleteOutcome, ProviderResponseRef, PurgeEntry},
};
use turns::ports::{
    Link, PayloadReads, Payloads, ProviderResponseRemover, ProviderUsageReader, PurgePayloads,
    SessionIndexRemover, Unavailable,
};

use super::Faulty;
use crate::fault::Effect;
use crate::ledger::Event;

impl<P: PayloadReads + Clone + 'static> PayloadReads for Faulty<P> {
    async fn get(&self, payload: &Payload) -> Result<Option<Bytes>, Unavailable> {
        self.read(Effect::GetPayload, self.inner.get(payload)).await
    }

    async fn link(&self, payload: &Payload) -> Result<Option<Link>, Unavailable> {
        self.read(Effect::FindPayload, self.inner.link(payload)).await
    }
}

impl<P: Payloads + Clone + 'static> Payloads for Faulty<P> {
    async fn put(&self, payload: &Payload, body: Bytes) -> Result<(), Unavailable> {
        let (inner, key) = (self.inner.clone(), payload.clone());
        self.put(Effect::PutPayload, async move { inner.put(&key, body).await }).await?;
        self.process.ledger().record(Event::StoreAcknowledged(payload.clone()));
        Ok(())
    }

    async fn put_file(&self, file: &File) -> Result<(), Unavailable> {
        // Fault injection ignores media types.
        Payloads::put(self, &file.payload, file.bytes.clone()).await
    }

    async fn remove(&self, payload: &Payload) -> Result<(), Unavailable> {
        let (inner, key) = (self.inner.clone(), payload.clone());
        self.put(Effect::RemovePayload, async move { inner.remove(&key).await }).await
    }
}

impl<P: PurgePayloads + Clone + 'static> PurgePayloads for Faulty<P> {
    async fn versions(&self, session: &SessionKey) -> Result<Vec<PurgeEntry>, Unavailable> {
        self.read(Effect::ListVersions, self.inner.versions(session)).await
    }

    async fn remove_versions(&self, versions: &[PurgeEntry]) -> Result<(), Unavailable> {
        let (inner, versions) = (self.inner.clone(), versions.to_vec());
        self.put(Effect::RemoveVersions, async move { inner.remove_versions(&versions).await }).await
    }
}

impl<U: ProviderResponseRemover + Clone + 'static> ProviderResponseRemover for Faulty<U> {
    async fn remove(&self, response: &ProviderResponseRef) -> Result<(), Unavailable> {
        let (inner, response) = (self.inner.clone(), response.clone());
        self.put(Effect::RemoveProviderResponse, async move { inner.remove(&response).await }).await
    }
}

impl<U: ProviderUsageReader + Clone + 'static> ProviderUsageReader for Faulty<U> {
    async fn usage(&self, response: &ProviderResponseRef) -> Result<Option<Usage>, Unavailable> {
        self.read(Effect::ReadProviderUsage, self.inner.usage(response)).await
    }
}

impl<I: SessionIndexRemover + Clone + 'static> SessionIndexRemover for Faulty<I> {
    async fn delete(&self, session: &SessionKey) -> Result<DeleteOutcome, Unavailable> {
        let (inner, session) = (self.inner.clone(), session.clone());
        self.put(Effect::RemoveFromIndex, async move { inner.delete(&session).await.map(|_| ()) }).await?;
        Ok(DeleteOutcome::Deleted)
    }
}
