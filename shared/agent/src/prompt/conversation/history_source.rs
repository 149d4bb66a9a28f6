//! The source of the history: the provider or this service.

use protocol::chain::ReplayReason;

/// The source of the conversation before the next request.
#[derive(Debug)]
pub(super) enum HistorySource {
    /// The provider's stored responses.
    Continued {
        /// The response that the turn's first model call continues from. `None` if it starts a chain.
        previous_response_id: Option<String>,
    },
    /// This service, which replays the earlier turns.
    Replayed {
        /// The reason to replay the earlier turns. `None` without earlier turns.
        reason: Option<ReplayReason>,
        /// The provider's storage of responses, for the requests after this one.
        storage: ResponseStorage,
    },
}

/// The provider's storage of responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseStorage {
    /// Responses are stored.
    Enabled,
    /// The provider refused to continue from a response and hasn't replied since.
    Doubtful,
    /// The provider stores nothing, or must not.
    Disabled,
}

impl HistorySource {
    /// True if the provider stores its responses for later requests to continue from.
    pub(super) fn provider_stores(&self) -> bool {
        match self {
            Self::Continued { .. } => true,
            Self::Replayed { storage, .. } => *storage == ResponseStorage::Enabled,
        }
    }

    /// Returns the reason to replay the earlier turns, or `None` if the provider stores them or the session has none.
    pub(super) fn replay_reason(&self) -> Option<ReplayReason> {
        match self {
            Self::Continued { .. } => None,
            Self::Replayed { reason, .. } => *reason,
        }
    }

    /// True if the provider refused to continue from a response and hasn't replied since.
    pub(super) fn is_doubtful(&self) -> bool {
        matches!(self, Self::Replayed { storage: ResponseStorage::Doubtful, .. })
    }
}
