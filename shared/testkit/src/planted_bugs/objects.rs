//! The bucket with a bug.

use std::time::Duration;

use agent::outcome::{Ending, Outcome, answer::File};
use bytes::Bytes;
use protocol::payload::{Kind, MAX_INLINE_REQUEST_BYTES, Payload};
use turns::ports::{Link, PayloadReads, Payloads, Unavailable};

use super::{Bug, Buggy};
use crate::memory::Objects;

/// Returns a suspension without the calls that are already answered.
fn without_server_share(outcome: &[u8]) -> Option<Bytes> {
    let mut outcome = Outcome::from_json(outcome).ok()?;
    let Ending::Suspended { recovery_point } = &mut outcome.ending else { return None };
    recovery_point.state.rounds.last.as_mut()?.calls.retain(|call| call.outcome.is_none());
    Some(outcome.to_json().into())
}

impl PayloadReads for Buggy<Objects> {
    async fn get(&self, payload: &Payload) -> Result<Option<Bytes>, Unavailable> {
        let payload = Bug::key(self.bug, payload);
        if self.has(Bug::LooksBeforeFencing)
            && matches!(payload.kind, Kind::Outcome(_))
            && self.snapshots().get(&payload.turn).is_some_and(|snapshots| !snapshots.contains(&payload))
        {
            return Ok(None);
        }
        self.faulty.get(&payload).await
    }

    async fn link(&self, payload: &Payload) -> Result<Option<Link>, Unavailable> {
        self.bare.link(payload).await
    }
}

impl Payloads for Buggy<Objects> {
    async fn put(&self, payload: &Payload, body: Bytes) -> Result<(), Unavailable> {
        let payload = Bug::key(self.bug, payload);
        if self.has(Bug::MetadataBeforePayload) && matches!(payload.kind, Kind::Outcome(_)) {
            let bare = self.bare.clone();
            self.clock.apply_later(Duration::from_secs(2), async move {
                let _ = bare.put(&payload, body).await;
            });
            return Ok(());
        }
        if self.has(Bug::InlineRequestNotPublished)
            && matches!(payload.kind, Kind::Instruction(_))
            && body.len() <= MAX_INLINE_REQUEST_BYTES
        {
            return Ok(());
        }
        let body = match payload.kind {
            Kind::Outcome(_) if self.has(Bug::ServerShareForgotten) => {
                without_server_share(&body).unwrap_or(body)
            }
            _ => body,
        };
        Payloads::put(&self.faulty, &payload, body).await
    }

    async fn put_file(&self, file: &File) -> Result<(), Unavailable> {
        self.put(&file.payload, file.bytes.clone()).await
    }

    async fn remove(&self, payload: &Payload) -> Result<(), Unavailable> {
        self.faulty.remove(&Bug::key(self.bug, payload)).await
    }
}
