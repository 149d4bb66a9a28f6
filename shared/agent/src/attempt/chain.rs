//! The provider chain of an attempt.

use contracts::Timestamp;
use protocol::detail::FallbackAttempt;
use serde::{Deserialize, Serialize};

/// The provider chain: the last response, and what the attempt observed of providers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ChainState {
    /// Response id of the last reply, for the next request to continue from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// The last reply. `None` before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<ReplyInfo>,
    /// A provider that doesn't store responses to continue from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stateless_provider: Option<String>,
    /// The models that failed before the current one, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallback_attempts: Vec<FallbackAttempt>,
}

/// Facts about a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ReplyInfo {
    /// The response that its request continued from. `None` if it started a chain.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub previous_response_id: Option<String>,
    /// The provider.
    pub provider: String,
    /// The requested model.
    pub model: String,
    /// The model that wrote it, as the provider reports it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub response_model: Option<String>,
    /// The time at which it arrived.
    pub received_at: Timestamp,
}

impl ChainState {
    /// Returns the provider of the last reply.
    #[must_use]
    pub fn provider(&self) -> Option<&str> {
        self.reply.as_ref().map(|reply| reply.provider.as_str())
    }

    /// True if the provider of the last reply doesn't store responses.
    #[must_use]
    pub fn is_stateless(&self) -> bool {
        self.stateless_provider.is_some() && self.stateless_provider.as_deref() == self.provider()
    }

    /// Returns the stateless provider if it is the turn's first one. The session's next turn starts with that one
    /// again.
    #[must_use]
    pub fn stateless_first_provider(&self) -> Option<&String> {
        let is_first = |provider: &&String| {
            self.fallback_attempts.first().is_none_or(|first| first.provider == **provider)
        };
        self.stateless_provider.as_ref().filter(is_first)
    }
}
