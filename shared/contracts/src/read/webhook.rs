//! Secrets, tests and deliveries of webhooks.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    id::{SessionId, TurnId, WebhookId},
    webhook::WebhookEvent,
};

/// A new secret of a webhook. It can't be read again.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct WebhookSecret {
    /// Id of the webhook.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub webhook_id: WebhookId,
    /// The secret, in the form of Standard Webhooks: `whsec_` and 32 random bytes in Base64.
    pub secret: String,
    /// Time until which the replaced secret signs too. Absent for a first secret.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub previous_expires: Option<String>,
}

/// Hides the secret.
impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookSecret").field("webhook_id", &self.webhook_id).finish_non_exhaustive()
    }
}

/// The result of a test event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct WebhookTest {
    /// True if the receiver responded with a 2xx status.
    pub is_delivered: bool,
    /// Status of the response. Absent without a response.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status_code: Option<u16>,
    /// Reason for the failure.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message: Option<String>,
    /// Time that the request took, in milliseconds.
    pub duration_milliseconds: u64,
}

/// The number of deliveries that were queued again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct WebhookReplay {
    /// Number of deliveries.
    pub replayed: u32,
    /// Time to replay from again. Absent if no dead delivery is left.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next_since: Option<String>,
}

/// The state of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// It waits for its first or next attempt, or for earlier events of its session.
    Pending,
    /// The receiver responded with a 2xx status.
    Delivered,
    /// Every attempt of three days failed, or the receiver refused the webhook with status 410.
    Dead,
    /// The webhook or the session was deleted.
    Dropped,
}

/// An event for a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct WebhookDelivery {
    /// Id of the event, which every attempt sends in `webhook-id`.
    pub delivery_id: String,
    /// Type of the event.
    pub event: WebhookEvent,
    /// Id of the session.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub session_id: SessionId,
    /// Id of the turn.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub turn_id: TurnId,
    /// The state.
    pub state: DeliveryState,
    /// Number of attempts.
    pub attempts: u32,
    /// Status of the last response. Absent if the last attempt got none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_status_code: Option<u16>,
    /// Reason for the last failure. Never text of the receiver.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_message: Option<String>,
    /// Time of the last attempt.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_attempt_date: Option<String>,
    /// Time of the event.
    pub creation_date: String,
}

/// The status of a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct WebhookStatus {
    /// Id of the webhook.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub webhook_id: WebhookId,
    /// True if the document pauses it.
    pub is_paused: bool,
    /// Time since which every attempt has failed. Absent if the last attempt succeeded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failing_since: Option<String>,
    /// Time at which the service disabled it, after five days of failures. A successful test or a new version enables it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub disabled_since: Option<String>,
    /// Time at which the secret was created. Absent without a secret: nothing is sent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub secret_date: Option<String>,
}
