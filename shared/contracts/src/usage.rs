//! Token usage.

use serde::{Deserialize, Serialize};

/// Token counts, summed over a turn's model calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct Usage {
    /// Input tokens.
    pub prompt_tokens: u64,
    /// Output tokens.
    pub completion_tokens: u64,
    /// Input and output tokens together, as the provider counts them.
    pub total_tokens: u64,
    /// Input tokens read from the provider's cache. Absent if the provider doesn't report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cached_tokens: Option<u64>,
    /// Input tokens written to the provider's cache. Absent if the provider doesn't report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cache_write_tokens: Option<u64>,
    /// Output tokens spent on reasoning. Absent if the provider doesn't report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reasoning_tokens: Option<u64>,
}

impl Usage {
    /// Adds the usage of another model call.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        let either = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        Self {
            prompt_tokens: self.prompt_tokens.saturating_add(other.prompt_tokens),
            completion_tokens: self.completion_tokens.saturating_add(other.completion_tokens),
            total_tokens: self.total_tokens.saturating_add(other.total_tokens),
            cached_tokens: either(self.cached_tokens, other.cached_tokens),
            cache_write_tokens: either(self.cache_write_tokens, other.cache_write_tokens),
            reasoning_tokens: either(self.reasoning_tokens, other.reasoning_tokens),
        }
    }

    /// Returns the usage beyond an earlier one.
    #[must_use]
    pub fn saturating_sub(self, before: Self) -> Self {
        let beyond = |now: Option<u64>, before: Option<u64>| {
            now.map(|now| now.saturating_sub(before.unwrap_or_default()))
        };
        Self {
            prompt_tokens: self.prompt_tokens.saturating_sub(before.prompt_tokens),
            completion_tokens: self.completion_tokens.saturating_sub(before.completion_tokens),
            total_tokens: self.total_tokens.saturating_sub(before.total_tokens),
            cached_tokens: beyond(self.cached_tokens, before.cached_tokens),
            cache_write_tokens: beyond(self.cache_write_tokens, before.cache_write_tokens),
            reasoning_tokens: beyond(self.reasoning_tokens, before.reasoning_tokens),
        }
    }
}
