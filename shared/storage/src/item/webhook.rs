//! The stored deliveries of webhooks, and the health of a webhook.

use contracts::{Timestamp, id::TurnId, read::DeliveryState, webhook::WebhookEvent};
use protocol::webhook::{Attempt, Delivery, Health, LaneKey, LanePosition, RETENTION};
use serde::{Deserialize, Serialize};

use super::Entity;
use crate::key;

/// The attributes of a delivery that may be absent.
pub(crate) const OPTIONAL: &[&str] = &["LastAt", "LastStatus", "LastMessage"];
/// The attributes of a webhook's health that may be absent.
pub(crate) const HEALTH_OPTIONAL: &[&str] = &["FailingSince", "DisabledAt", "DisabledVersion", "SecretAt"];

/// See [`key::Item::Delivery`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct DeliveryItem {
    #[serde(rename = "GSI1PK")]
    gsi1pk: String,
    #[serde(rename = "GSI1SK")]
    gsi1sk: String,
    id: String,
    turn: TurnId,
    event: WebhookEvent,
    at: Timestamp,
    deadline: Timestamp,
    #[serde(default)]
    unknown_calls: u32,
    state: DeliveryState,
    attempts: u32,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    last_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    last_status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    last_message: Option<String>,
    expires_at: i64,
}

impl Entity for Delivery {
    type Item = DeliveryItem;

    fn key(&self) -> key::Item<'_> {
        key::Item::Delivery(&self.lane, self.place)
    }
}

impl From<&Delivery> for DeliveryItem {
    fn from(delivery: &Delivery) -> Self {
        let Delivery { lane, place, id, turn, event, at, deadline, unknown_calls, state, attempts, last } =
            delivery.clone();
        let (mut last_at, mut last_status, mut last_message) = (None, None, None);
        if let Some(last) = last {
            (last_at, last_status, last_message) = (Some(last.at), last.status, last.message);
        }
        Self {
            gsi1pk: key::webhook_index(&lane.session.org, &lane.webhook),
            gsi1sk: key::delivery_at(at, &lane.session, &key::place_part(place)),
            id,
            turn,
            event,
            at,
            deadline,
            unknown_calls,
            state,
            attempts,
            last_at,
            last_status,
            last_message,
            // A replay keeps it for another while.
            expires_at: deadline.after(RETENTION).as_millis() / 1_000,
        }
    }
}

impl DeliveryItem {
    pub(crate) fn into_delivery(self, lane: LaneKey, place: LanePosition) -> Delivery {
        let last =
            self.last_at.map(|at| Attempt { at, status: self.last_status, message: self.last_message });
        let Self { id, turn, event, at, deadline, unknown_calls, state, attempts, .. } = self;
        Delivery { lane, place, id, turn, event, at, deadline, unknown_calls, state, attempts, last }
    }
}

/// See [`key::Item::WebhookHealth`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct HealthItem {
    rev: u64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    failing_since: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    disabled_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    disabled_version: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    secret_at: Option<Timestamp>,
}

impl From<&Health> for HealthItem {
    fn from(health: &Health) -> Self {
        Self {
            rev: health.rev.saturating_add(1),
            failing_since: health.failing_since,
            disabled_at: health.disabled.map(|(at, _)| at),
            disabled_version: health.disabled.map(|(_, version)| version),
            secret_at: health.secret_at,
        }
    }
}

impl From<HealthItem> for Health {
    fn from(item: HealthItem) -> Self {
        let HealthItem { rev, failing_since, disabled_at, disabled_version, secret_at } = item;
        Self { rev, failing_since, disabled: disabled_at.zip(disabled_version), secret_at }
    }
}
