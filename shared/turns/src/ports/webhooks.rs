//! The ports of deliveries to webhooks: their items, their secrets, the receivers, and the queue that triggers senders.

use std::{fmt, future::Future, time::Duration};

use contracts::{
    Timestamp,
    id::{OrgId, WebhookId},
};
use protocol::{
    id::AttemptId,
    webhook::{Delivery, Health, Lane, LaneKey, LanePosition},
};
use serde::{Deserialize, Serialize};

use super::{
    errors::{Unavailable, WriteError},
    records::Page,
};

/// The most deliveries that [`Outbox::pending`] returns.
pub const PENDING_PAGE_SIZE: usize = 10;

/// The next state of a lane that its sender writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneStep {
    /// The sender keeps the lease until this time.
    Hold(Timestamp),
    /// The sender ends the lease, and the lane is due again at this time.
    Wait(Timestamp),
    /// The sender ends the lease, and nothing is due. Applies only if no event was added since the lane was read.
    Rest,
}

/// The items of deliveries.
pub trait Outbox: Send + Sync {
    /// Leases a lane that is due and that no other sender holds. `None` if there is no such lane.
    fn claim_lane(
        &self,
        key: &LaneKey,
        owner: &AttemptId,
        now: Timestamp,
        until: Timestamp,
    ) -> impl Future<Output = Result<Option<Lane>, Unavailable>> + Send;
    /// Returns the pending deliveries of a lane from a place on, in order, at most [`PENDING_PAGE_SIZE`]. `next` is set if
    /// there may be more. Reads consistently.
    fn pending(
        &self,
        lane: &LaneKey,
        from: LanePosition,
    ) -> impl Future<Output = Result<(Vec<Delivery>, Option<LanePosition>), Unavailable>> + Send;
    /// Writes the state of an existing delivery, and the next state of its lane, if its sender still holds it.
    fn conclude(
        &self,
        delivery: &Delivery,
        lane: &Lane,
        step: LaneStep,
    ) -> impl Future<Output = Result<(), WriteError>> + Send;
    /// Writes the next state of a lane, if its sender still holds it.
    fn step_lane(&self, lane: &Lane, step: LaneStep) -> impl Future<Output = Result<(), WriteError>> + Send;
    /// Returns lanes that were due before `now`, from one shard of the sparse index. They are candidates: the index may be
    /// stale.
    fn due_lanes(
        &self,
        shard: u8,
        now: Timestamp,
        after: Option<String>,
    ) -> impl Future<Output = Result<Page<LaneKey>, Unavailable>> + Send;
    /// Returns the deliveries of a webhook, newest first. The list may be slightly stale.
    fn deliveries(
        &self,
        org: &OrgId,
        webhook: &WebhookId,
        limit: usize,
        after: Option<String>,
    ) -> impl Future<Output = Result<Page<Delivery>, Unavailable>> + Send;
    /// Returns the deliveries of a webhook from a time on, oldest first. The list may be slightly stale.
    fn deliveries_since(
        &self,
        org: &OrgId,
        webhook: &WebhookId,
        since: Timestamp,
        limit: usize,
        after: Option<String>,
    ) -> impl Future<Output = Result<Page<Delivery>, Unavailable>> + Send;
    /// Returns the delivery of a lane with this id. Reads consistently.
    fn delivery(
        &self,
        lane: &LaneKey,
        id: &str,
    ) -> impl Future<Output = Result<Option<Delivery>, Unavailable>> + Send;
    /// Writes an existing delivery that is pending again, and makes its lane due.
    fn requeue(
        &self,
        delivery: &Delivery,
        now: Timestamp,
    ) -> impl Future<Output = Result<(), WriteError>> + Send;
    /// Returns the health of a webhook. Reads consistently.
    fn health(
        &self,
        org: &OrgId,
        webhook: &WebhookId,
    ) -> impl Future<Output = Result<Health, Unavailable>> + Send;
    /// Writes the health of a webhook if the stored one has its revision, and increments the revision.
    fn write_health(
        &self,
        org: &OrgId,
        webhook: &WebhookId,
        health: &Health,
    ) -> impl Future<Output = Result<(), WriteError>> + Send;
}

/// The secrets of a webhook.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct SigningSecrets {
    /// The newest secret, with its prefix.
    pub current: String,
    /// The time of the newest secret.
    pub created: Timestamp,
    /// The secret before it, and the time until which it signs too.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub previous: Option<(String, Timestamp)>,
}

impl SigningSecrets {
    /// Returns the secrets that sign at this time, newest first.
    pub fn at(&self, now: Timestamp) -> impl Iterator<Item = &str> {
        let previous = self.previous.as_ref().filter(|(_, expires)| now < *expires);
        std::iter::once(self.current.as_str()).chain(previous.map(|(secret, _)| secret.as_str()))
    }
}

/// Hides the secrets.
impl fmt::Debug for SigningSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningSecrets").field("created", &self.created).finish_non_exhaustive()
    }
}

/// Stores the secrets of webhooks, apart from their documents. Nobody but a delivery reads them.
pub trait WebhookSecrets: Send + Sync {
    /// Returns the secrets of a webhook. They may be a minute old, but not older than the secret of `since`.
    fn signing_secrets(
        &self,
        org: &OrgId,
        webhook: &WebhookId,
        since: Timestamp,
    ) -> impl Future<Output = Result<Option<SigningSecrets>, Unavailable>> + Send;
    /// Replaces the secrets of a webhook.
    fn set_signing_secrets(
        &self,
        org: &OrgId,
        webhook: &WebhookId,
        secrets: &SigningSecrets,
    ) -> impl Future<Output = Result<(), Unavailable>> + Send;
}

/// An event to send.
#[derive(Debug, Clone, Copy)]
pub struct WebhookMessage<'a> {
    /// The URL of the receiver.
    pub url: &'a str,
    /// The id of the event.
    pub id: &'a str,
    /// The time of the attempt.
    pub at: Timestamp,
    /// The body.
    pub body: &'a str,
    /// The secrets.
    pub secrets: &'a SigningSecrets,
}

/// What a receiver responded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebhookReply {
    /// The status.
    pub status: u16,
    /// The pause before the next attempt that it asks for.
    pub retry_after: Option<Duration>,
}

/// Sends events to receivers, signed as Standard Webhooks says.
pub trait Receivers: Send + Sync {
    /// Sends a message once. Returns the reply, or the reason why there is none. `may_send` is asked right before the
    /// request is written.
    fn send(
        &self,
        message: WebhookMessage<'_>,
        timeout: Duration,
        may_send: &(dyn Fn() -> bool + Send + Sync),
    ) -> impl Future<Output = Result<WebhookReply, String>> + Send;
    /// Returns a new random secret.
    ///
    /// # Errors
    /// If the machine has no random numbers.
    fn new_secret(&self) -> Result<String, Unavailable>;
}

/// The queue that triggers senders. A lost message only costs latency.
pub trait WebhookQueue: Send + Sync {
    /// Announces that a lane is due after a time, at most 15 minutes.
    fn announce(
        &self,
        lane: &LaneKey,
        delay: Duration,
    ) -> impl Future<Output = Result<(), Unavailable>> + Send;
}
