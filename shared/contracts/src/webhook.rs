//! Types of the events that webhooks deliver.

use serde::{Deserialize, Serialize};

/// The type of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum WebhookEvent {
    /// A turn completed.
    #[serde(rename = "turn.completed")]
    TurnCompleted,
    /// A turn failed, or was ended from outside.
    #[serde(rename = "turn.failed")]
    TurnFailed,
    /// A turn ended with calls whose outcome is unknown.
    #[serde(rename = "effect.unknown")]
    EffectUnknown,
}

impl WebhookEvent {
    /// Every type.
    pub const ALL: [Self; 3] = [Self::TurnCompleted, Self::TurnFailed, Self::EffectUnknown];

    /// Returns the type as a delivery has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TurnCompleted => "turn.completed",
            Self::TurnFailed => "turn.failed",
            Self::EffectUnknown => "effect.unknown",
        }
    }
}
