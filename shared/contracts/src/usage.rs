//! Tokens that a turn's model calls used.

use serde::{Deserialize, Serialize};

/// Token counts, summed over a turn's model calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct Usage {
    /// Tokens of the input.
    pub prompt_tokens: u64,
    /// Tokens of the output.
    pub completion_tokens: u64,
    /// Input and output together, as the provider counts them.
    pub total_tokens: u64,
    /// Input tokens served from the provider's cache; absent when the provider does not tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cached_tokens: Option<u64>,
    /// Input tokens that were written to the provider's cache; absent when the provider does not tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cache_write_tokens: Option<u64>,
    /// Output tokens spent on reasoning; absent when the provider does not tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reasoning_tokens: Option<u64>,
}

impl Usage {
    /// This usage and another model call's together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
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
}
