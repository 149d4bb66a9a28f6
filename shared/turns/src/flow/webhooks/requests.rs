//! Requests of operators: a new secret, a test event, a replay, the list of deliveries, and the status.

use agent::{
    context::{ContextId, Document},
    webhook::Webhook,
};
use contracts::{
    Error, ErrorCode,
    id::WebhookId,
    read::{
        DeliveryState, ListResponse, WebhookDelivery, WebhookReplay, WebhookSecret, WebhookStatus,
        WebhookTest,
    },
    request::WebhookReplayRequest,
};
use protocol::{
    Caller,
    id::SessionKey,
    webhook::{Delivery, Health, LaneKey, REQUEST_TIMEOUT, SECRET_OVERLAP},
};
use serde_json::json;

use super::deliver::attempt;
use crate::{
    document_view,
    flow::{
        access,
        write::{self, Tried},
    },
    ports::{
        Deps, DocumentId, Documents, Host, Outbox, Receivers, SigningSecrets, Timer, WebhookMessage,
        WebhookSecrets, WriteError,
    },
    refusal::Refusal,
};

/// The most deliveries that a replay reads.
const MAX_REPLAYED: usize = 1_000;
/// The deliveries of a page of a replay.
const REPLAY_PAGE: usize = 100;

/// Returns a webhook and its version, for an operator.
async fn named(
    store: &impl Documents,
    caller: &Caller,
    id: &ContextId,
) -> Result<(WebhookId, Webhook, u32), Refusal> {
    access::require_operator(caller)?;
    let ContextId::Webhook(webhook) = id else { return Err(Refusal::context_not_found(id)) };
    let head = store.document(&caller.org, &DocumentId::Context(id.clone())).await?;
    let head = head.filter(|head| head.content.is_some()).ok_or_else(|| Refusal::context_not_found(id))?;
    match document_view::parse(id, &head)? {
        Document::Webhook(document) => Ok((webhook.clone(), document, head.version.unwrap_or_default())),
        _ => Err(Refusal::context_not_found(id)),
    }
}

/// Creates the secret of a webhook. The one before it signs for another 24 hours.
///
/// # Errors
/// If the caller is no operator, there is no such webhook, or the secrets can't be reached.
pub async fn rotate_webhook_secret<D>(
    deps: &D,
    receivers: &impl Receivers,
    secrets: &impl WebhookSecrets,
    caller: &Caller,
    id: &ContextId,
) -> Result<WebhookSecret, Refusal>
where
    D: Deps,
    D::Store: Outbox,
{
    let (webhook_id, ..) = named(deps.store(), caller, id).await?;
    let now = deps.host().now();
    let before = match deps.store().health(&caller.org, &webhook_id).await?.secret_at {
        Some(since) => secrets.signing_secrets(&caller.org, &webhook_id, since).await?,
        None => None,
    };
    let expires = now.after(SECRET_OVERLAP);
    let previous = before.map(|before| (before.current, expires));
    let previous_expires = previous.as_ref().map(|_| expires.to_string());
    let after = SigningSecrets { current: receivers.new_secret()?, created: now, previous };
    secrets.set_signing_secrets(&caller.org, &webhook_id, &after).await?;
    change_health(deps, caller, &webhook_id, |health| Health { secret_at: Some(now), ..health }).await?;
    access::audit_webhook("webhook_secret", caller, &webhook_id);
    Ok(WebhookSecret { webhook_id, secret: after.current, previous_expires })
}

/// Sends a test event once. A success enables the webhook.
///
/// # Errors
/// If the caller is no operator, or there is no such webhook.
pub async fn test_webhook<D>(
    deps: &D,
    receivers: &impl Receivers,
    secrets: &impl WebhookSecrets,
    caller: &Caller,
    id: &ContextId,
) -> Result<WebhookTest, Refusal>
where
    D: Deps,
    D::Store: Outbox,
{
    let (webhook_id, webhook, _) = named(deps.store(), caller, id).await?;
    access::audit_webhook("webhook_test", caller, &webhook_id);
    let host = deps.host();
    let health = deps.store().health(&caller.org, &webhook_id).await?;
    let secrets = match health.secret_at {
        Some(since) => secrets.signing_secrets(&caller.org, &webhook_id, since).await?,
        None => None,
    };
    let (started, at) = (host.monotonic(), host.now());
    let sent = match secrets {
        None => Err("The webhook has no secret. Create one first.".to_owned()),
        Some(secrets) => {
            let body =
                json!({ "type": "webhook.test", "timestamp": at, "data": { "WebhookId": webhook_id } });
            let (body, id) = (body.to_string(), format!("evt_{}", host.attempt_id()));
            let message = WebhookMessage { url: &webhook.url, id: &id, at, body: &body, secrets: &secrets };
            receivers.send(message, REQUEST_TIMEOUT, &|| true).await
        }
    };
    let taken = host.monotonic().saturating_sub(started).as_millis();
    let attempt = attempt(at, sent);
    if attempt.is_success() && (health.failing_since.is_some() || health.disabled.is_some()) {
        let well = |health| Health { failing_since: None, disabled: None, ..health };
        change_health(deps, caller, &webhook_id, well).await?;
    }
    Ok(WebhookTest {
        is_delivered: attempt.is_success(),
        status_code: attempt.status,
        message: attempt.message,
        duration_milliseconds: u64::try_from(taken).unwrap_or(u64::MAX),
    })
}

async fn change_health<D>(
    deps: &D,
    caller: &Caller,
    id: &WebhookId,
    change: impl Fn(Health) -> Health,
) -> Result<(), Refusal>
where
    D: Deps,
    D::Store: Outbox,
{
    write::decide(deps.host(), || async {
        let health = deps.store().health(&caller.org, id).await?;
        Ok(deps.store().write_health(&caller.org, id, &change(health)).await.into())
    })
    .await
}

/// Queues deliveries again.
///
/// # Errors
/// If the caller is no operator, or there is no such webhook or delivery.
pub async fn replay_webhook<D>(
    deps: &D,
    caller: &Caller,
    id: &ContextId,
    request: &WebhookReplayRequest,
) -> Result<WebhookReplay, Refusal>
where
    D: Deps,
    D::Store: Outbox,
{
    let (webhook_id, ..) = named(deps.store(), caller, id).await?;
    let (store, org) = (deps.store(), &caller.org);
    let (mut replayed, mut next_since) = (0, None);
    match request {
        WebhookReplayRequest::One { session, delivery } => {
            let session = SessionKey { org: org.clone(), session: session.clone() };
            let lane = LaneKey::new(session, webhook_id.clone());
            let found = store.delivery(&lane, delivery).await?;
            let found =
                found.ok_or_else(|| Error::from(ErrorCode::DeliveryNotFound).with_details("DeliveryId"))?;
            replayed += u32::from(requeue(deps, found).await?);
        }
        WebhookReplayRequest::DeadSince(since) => {
            let (mut last, mut seen, mut after) = (*since, 0, None);
            loop {
                let page = store.deliveries_since(org, &webhook_id, *since, REPLAY_PAGE, after).await?;
                seen += page.items.len();
                for delivery in page.items {
                    last = delivery.at;
                    if delivery.state == DeliveryState::Dead {
                        replayed += u32::from(requeue(deps, delivery).await?);
                    }
                }
                after = page.next;
                if after.is_none() {
                    break;
                }
                if seen >= MAX_REPLAYED {
                    next_since = Some(last.to_string());
                    break;
                }
            }
        }
    }
    access::audit_webhook("webhook_replay", caller, &webhook_id);
    Ok(WebhookReplay { replayed, next_since })
}

/// Queues a delivery again. False if its session was purged meanwhile.
async fn requeue<D>(deps: &D, delivery: Delivery) -> Result<bool, Refusal>
where
    D: Deps,
    D::Store: Outbox,
{
    let now = deps.host().now();
    let after = delivery.replayed(now);
    write::decide(deps.host(), || async {
        Ok(match deps.store().requeue(&after, now).await {
            Ok(()) => Tried::Done(true),
            Err(WriteError::ConditionFailed) => Tried::Done(false),
            Err(WriteError::Contended) => Tried::Conflict,
            Err(WriteError::Unknown(source)) => Tried::Unknown(source),
        })
    })
    .await
}

/// Lists the deliveries of a webhook, newest first.
///
/// # Errors
/// If the caller is no operator, or there is no such webhook.
pub async fn list_webhook_deliveries(
    store: &(impl Documents + Outbox),
    caller: &Caller,
    id: &ContextId,
    page_size: u32,
    token: Option<String>,
) -> Result<ListResponse<WebhookDelivery>, Refusal> {
    let (webhook, ..) = named(store, caller, id).await?;
    let limit = usize::try_from(page_size).unwrap_or(usize::MAX);
    let page = store.deliveries(&caller.org, &webhook, limit, token).await?;
    Ok(ListResponse::new(page.items.into_iter().map(view).collect(), page_size, page.next))
}

/// Returns the status of a webhook.
///
/// # Errors
/// If the caller is no operator, or there is no such webhook.
pub async fn read_webhook_status(
    store: &(impl Documents + Outbox),
    caller: &Caller,
    id: &ContextId,
) -> Result<WebhookStatus, Refusal> {
    let (webhook_id, webhook, version) = named(store, caller, id).await?;
    let health = store.health(&caller.org, &webhook_id).await?;
    let disabled = health.disabled.filter(|_| health.is_disabled(version));
    Ok(WebhookStatus {
        webhook_id,
        is_paused: webhook.paused,
        failing_since: health.failing_since.map(|at| at.to_string()),
        disabled_since: disabled.map(|(at, _)| at.to_string()),
        secret_date: health.secret_at.map(|at| at.to_string()),
    })
}

fn view(delivery: Delivery) -> WebhookDelivery {
    let Delivery { lane, id, turn, event, at, state, attempts, last, .. } = delivery;
    let (mut last_status_code, mut last_message, mut last_attempt_date) = (None, None, None);
    if let Some(last) = last {
        (last_status_code, last_message) = (last.status, last.message);
        last_attempt_date = Some(last.at.to_string());
    }
    WebhookDelivery {
        delivery_id: id,
        event,
        session_id: lane.session.session,
        turn_id: turn,
        state,
        attempts,
        last_status_code,
        last_message,
        last_attempt_date,
        creation_date: at.to_string(),
    }
}
