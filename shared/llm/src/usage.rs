//! The token usage of a response, in the layouts of the Responses and the Chat Completions API.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::json::number;

/// JSON Pointers to the tokens written to the cache: first the published one, then those of servers that pass on the
/// usage of Anthropic's models.
const CACHE_WRITES: [&str; 4] = [
    "/input_tokens_details/cache_write_tokens",
    "/input_tokens_details/cache_creation_tokens",
    "/prompt_tokens_details/cache_write_tokens",
    "/cache_creation_input_tokens",
];

/// JSON Pointers to the tokens read from the cache. The last one is DeepSeek's.
const CACHE_READS: [&str; 3] = [
    "/input_tokens_details/cached_tokens",
    "/prompt_tokens_details/cached_tokens",
    "/prompt_cache_hit_tokens",
];

/// JSON Pointers to the tokens spent on reasoning.
const REASONING: [&str; 2] =
    ["/output_tokens_details/reasoning_tokens", "/completion_tokens_details/reasoning_tokens"];

/// The token usage. A missing or invalid count is zero, or `None` if it is part of another count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// The counts, if the response has any.
    pub counts: Option<contracts::Usage>,
}

impl<'de> Deserialize<'de> for Usage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from_value(&Value::deserialize(deserializer)?))
    }
}

impl Usage {
    /// Reads the counts, if the value is an object.
    pub fn from_value(usage: &Value) -> Self {
        Self { counts: usage.is_object().then(|| read(usage)) }
    }
}

fn read(usage: &Value) -> contracts::Usage {
    let count = |pointer: &str| usage.pointer(pointer).and_then(number);
    let input = count("/input_tokens").or_else(|| count("/prompt_tokens"));
    let output = count("/output_tokens").or_else(|| count("/completion_tokens"));
    let (prompt_tokens, completion_tokens) = (input.unwrap_or(0), output.unwrap_or(0));
    contracts::Usage {
        prompt_tokens,
        completion_tokens,
        total_tokens: count("/total_tokens").unwrap_or(prompt_tokens.saturating_add(completion_tokens)),
        cached_tokens: CACHE_READS.iter().find_map(|pointer| count(pointer)),
        cache_write_tokens: CACHE_WRITES.iter().find_map(|pointer| count(pointer)),
        reasoning_tokens: REASONING.iter().find_map(|pointer| count(pointer)),
    }
}
