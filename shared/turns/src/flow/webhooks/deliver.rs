//! Delivery of a lane: in order, one sender at a time, at least once.
//!
//! A sender leases the lane, sends the first pending event, and records the attempt together with the next state of the
//! lane. If it dies between the two, the next sender sends the same event with the same id again.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use agent::{
    context::{ContextId, Document},
    webhook::Webhook,
};
use contracts::{error::causes, read::DeliveryState};
use protocol::webhook::{Attempt, Delivery, HOLD, Health, LANE_LEASE, Lane, LaneKey, Next, REQUEST_TIMEOUT};

use super::body;
use crate::{
    document_view,
    ports::{
        Deps, DocumentId, Documents, Host, LaneStep, Outbox, Reads, Receivers, Timer, Unavailable,
        WebhookMessage, WebhookReply, WebhookSecrets, WriteError,
    },
};

/// The result of a sender's work on a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lanes {
    /// Nothing is due now.
    Done,
    /// The lane is due after this time.
    Again(Duration),
}

/// The webhook of a lane, as it is now.
struct Target {
    /// The document with its version. `None` if it was deleted.
    live: Option<(Webhook, u32)>,
    health: Health,
}

/// Delivers the pending events of a lane for at most `budget`.
///
/// # Errors
/// If a store can't be reached. The lane is due again once its lease has ended.
pub async fn deliver_lane<D>(
    deps: &D,
    receivers: &impl Receivers,
    secrets: &impl WebhookSecrets,
    key: &LaneKey,
    budget: Duration,
) -> Result<Lanes, Unavailable>
where
    D: Deps,
    D::Store: Outbox,
{
    let (store, host) = (deps.store(), deps.host());
    let stop_at = host.monotonic().saturating_add(budget);
    let (mut leased, now) = (host.monotonic(), host.now());
    let claimed = store.claim_lane(key, &host.attempt_id(), now, now.after(LANE_LEASE)).await?;
    let Some(mut lane) = claimed else { return Ok(Lanes::Done) };
    loop {
        let (pending, more) = store.pending(key, lane.next).await?;
        for delivery in pending {
            if stop_at.saturating_sub(host.monotonic()) <= REQUEST_TIMEOUT {
                return step(store, &lane, LaneStep::Wait(host.now()), Lanes::Again(Duration::ZERO)).await;
            }
            let target = target(deps, key).await?;
            lane.next = delivery.place;
            let done = match prepare(deps, &target, delivery).await? {
                Prepared::Hold => {
                    return step(store, &lane, LaneStep::Wait(host.now().after(HOLD)), Lanes::Done).await;
                }
                Prepared::Drop(delivery) => (*delivery, Next::Proceed),
                Prepared::Send { delivery, webhook, body } => {
                    let (webhook, version) = *webhook;
                    let to = Recipient { target: &target, webhook: &webhook, leased };
                    let sent = send(deps, receivers, secrets, to, &delivery, &body).await?;
                    // The lease ended before the request was written. The next sender tries.
                    let Some((attempt, asked)) = sent else { return Ok(Lanes::Done) };
                    note_health(deps, key, &target.health, &attempt, version).await;
                    delivery.after(attempt, asked, |limit| host.jitter(limit))
                }
            };
            let (delivery, next) = done;
            let now = host.now();
            leased = host.monotonic();
            let (step, result) = match next {
                Next::Proceed => {
                    lane.next = delivery.place.following();
                    (LaneStep::Hold(now.after(LANE_LEASE)), None)
                }
                Next::Retry(pause) => (LaneStep::Wait(now.after(pause)), Some(Lanes::Again(pause))),
            };
            if !is_applied(store.conclude(&delivery, &lane, step).await)? {
                return Ok(Lanes::Done);
            }
            log(&delivery);
            if let Some(result) = result {
                return Ok(result);
            }
        }
        match more {
            Some(place) => lane.next = place,
            None => match store.step_lane(&lane, LaneStep::Rest).await {
                // An event was added since, or another sender holds the lane.
                Err(WriteError::ConditionFailed) => {
                    return step(store, &lane, LaneStep::Wait(host.now()), Lanes::Again(Duration::ZERO))
                        .await;
                }
                written => return is_applied(written).map(|_| Lanes::Done),
            },
        }
    }
}

/// What to do with a pending delivery.
enum Prepared {
    /// The webhook is paused or disabled.
    Hold,
    /// There is nothing to send, or nobody to send it to.
    Drop(Box<Delivery>),
    /// Send it.
    Send { delivery: Box<Delivery>, webhook: Box<(Webhook, u32)>, body: String },
}

async fn prepare(deps: &impl Deps, target: &Target, delivery: Delivery) -> Result<Prepared, Unavailable> {
    let Some((webhook, version)) = &target.live else {
        return Ok(Prepared::Drop(Box::new(delivery.dropped())));
    };
    if webhook.paused || target.health.is_disabled(*version) {
        return Ok(match deps.host().now() >= delivery.deadline {
            true => Prepared::Drop(Box::new(Delivery { state: DeliveryState::Dead, ..delivery })),
            false => Prepared::Hold,
        });
    }
    let key = delivery.turn_key();
    let session = deps.store().session(&key.session).await?;
    let Some(session) = session.filter(|session| !session.is_purged()) else {
        return Ok(Prepared::Drop(Box::new(delivery.dropped())));
    };
    let Some(record) = deps.store().record(&key).await? else {
        return Ok(Prepared::Drop(Box::new(delivery.dropped())));
    };
    let agent =
        session.contexts.agent.as_ref().map_or(contracts::id::BUILT_IN_CONTEXT, |agent| agent.as_str());
    let body = body::body(deps, &delivery, &record, agent, webhook.with_content).await?;
    Ok(Prepared::Send { delivery: Box::new(delivery), webhook: Box::new((webhook.clone(), *version)), body })
}

/// The recipient of an event, and the start of the lease under which it is sent, on the monotonic clock.
struct Recipient<'a> {
    target: &'a Target,
    webhook: &'a Webhook,
    leased: Duration,
}

/// Sends an event once. Returns the attempt, and the pause that the receiver asks for. `None` if the lease would not outlast
/// the request.
async fn send(
    deps: &impl Deps,
    receivers: &impl Receivers,
    secrets: &impl WebhookSecrets,
    Recipient { target, webhook, leased }: Recipient<'_>,
    delivery: &Delivery,
    body: &str,
) -> Result<Option<(Attempt, Option<Duration>)>, Unavailable> {
    let (org, host) = (&delivery.lane.session.org, deps.host());
    let failed = |message: &str| Attempt { at: host.now(), status: None, message: Some(message.to_owned()) };
    let secrets = match target.health.secret_at {
        Some(since) => secrets.signing_secrets(org, &webhook.id, since).await?,
        None => None,
    };
    let Some(secrets) = secrets else { return Ok(Some((failed("The webhook has no secret."), None))) };
    let at = host.now();
    let message = WebhookMessage { url: &webhook.url, id: &delivery.id, at, body, secrets: &secrets };
    let (spare, is_late) = (LANE_LEASE.saturating_sub(REQUEST_TIMEOUT), AtomicBool::new(false));
    let may_send = || {
        let is_early = host.monotonic().saturating_sub(leased) < spare;
        is_late.store(!is_early, Ordering::Relaxed);
        is_early
    };
    let sent = receivers.send(message, REQUEST_TIMEOUT, &may_send).await;
    let asked = sent.as_ref().ok().and_then(|reply| reply.retry_after);
    Ok((!is_late.load(Ordering::Relaxed)).then(|| (attempt(host.now(), sent), asked)))
}

/// Returns the attempt that had this response. Text of the receiver is never a part of it.
pub(super) fn attempt(at: contracts::Timestamp, sent: Result<WebhookReply, String>) -> Attempt {
    match sent.map(|reply| reply.status) {
        Ok(status) if (200..300).contains(&status) => Attempt { at, status: Some(status), message: None },
        Ok(status) => Attempt {
            at,
            status: Some(status),
            message: Some(format!("The receiver responded with {status}.")),
        },
        Err(message) => Attempt { at, status: None, message: Some(message) },
    }
}

/// Returns the webhook of a lane. The body of an event must not go to a URL that the org has replaced.
async fn target<D>(deps: &D, key: &LaneKey) -> Result<Target, Unavailable>
where
    D: Deps,
    D::Store: Outbox,
{
    let (store, org) = (deps.store(), &key.session.org);
    let id = ContextId::Webhook(key.webhook.clone());
    let document = DocumentId::Context(id.clone());
    let (head, health) =
        futures::future::try_join(store.document(org, &document), store.health(org, &key.webhook)).await?;
    let live = match head.filter(|head| head.content.is_some()) {
        Some(head) => match document_view::parse(&id, &head)? {
            Document::Webhook(webhook) => Some((webhook, head.version.unwrap_or_default())),
            _ => None,
        },
        None => None,
    };
    Ok(Target { live, health })
}

/// Records the health of a webhook after an attempt. A write that another sender has made is as good.
pub(super) async fn note_health<D>(deps: &D, key: &LaneKey, before: &Health, attempt: &Attempt, version: u32)
where
    D: Deps,
    D::Store: Outbox,
{
    let Some(after) = before.after(attempt, version) else { return };
    let (org, webhook) = (&key.session.org, &key.webhook);
    match deps.store().write_health(org, webhook, &after).await {
        Ok(()) if after.is_disabled(version) => {
            let (org, webhook) = (org.as_str(), webhook.as_str());
            tracing::error!(org, webhook, "{}", contracts::log::WEBHOOK_DISABLED);
        }
        Ok(()) | Err(WriteError::ConditionFailed | WriteError::Contended) => {}
        Err(WriteError::Unknown(error)) => {
            let error = causes(&*error).to_string();
            let (org, webhook) = (org.as_str(), webhook.as_str());
            tracing::warn!(org, webhook, error, "{}", contracts::log::WEBHOOK_HEALTH_NOT_STORED);
        }
    }
}

/// Writes the next state of a lane.
async fn step(store: &impl Outbox, lane: &Lane, next: LaneStep, result: Lanes) -> Result<Lanes, Unavailable> {
    Ok(if is_applied(store.step_lane(lane, next).await)? { result } else { Lanes::Done })
}

/// False if another sender holds the lane, or its session was purged. A reply that was lost counts as applied: if the write
/// wasn't, the lease ends by itself.
fn is_applied(written: Result<(), WriteError>) -> Result<bool, Unavailable> {
    match written {
        Ok(()) => Ok(true),
        Err(WriteError::ConditionFailed) => Ok(false),
        Err(WriteError::Contended) => {
            Err(Unavailable { what: "the lane of a webhook", source: "it stayed contended".into() })
        }
        Err(WriteError::Unknown(source)) => Err(Unavailable { what: "the lane of a webhook", source }),
    }
}

fn log(delivery: &Delivery) {
    let Delivery { lane, id, event, state, attempts, last, .. } = delivery;
    let status = last.as_ref().and_then(|last| last.status);
    let (org, session) = (lane.session.org.as_str(), lane.session.session.as_str());
    let (webhook, event) = (lane.webhook.as_str(), event.name());
    macro_rules! line {
        ($level:ident, $message:expr) => {
            tracing::$level!(org, session, webhook, event, id, attempts, status, "{}", $message)
        };
    }
    match state {
        DeliveryState::Delivered => line!(info, contracts::log::WEBHOOK_DELIVERED),
        DeliveryState::Pending => line!(warn, contracts::log::WEBHOOK_FAILED),
        DeliveryState::Dead => line!(error, contracts::log::WEBHOOK_DEAD),
        DeliveryState::Dropped => {}
    }
}
