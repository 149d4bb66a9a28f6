//! The token usage of a response, in the layouts of Anthropic's API and of Bedrock's Converse API.
//!
//! Both count the input that was read from or written to the cache apart from the rest of the input. The port's prompt
//! tokens are the sum.

use serde_json::Value;

use crate::json::number;

/// The counts so far. Later events repeat and correct them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    input: Option<u64>,
    cache_reads: Option<u64>,
    cache_writes: Option<u64>,
    output: Option<u64>,
    thinking: Option<u64>,
}

impl Usage {
    /// Updates the counts that the event has.
    pub(crate) fn update(&mut self, usage: Option<&Value>) {
        let new = |names: [&str; 2]| names.iter().find_map(|name| number(usage?.get(*name)?));
        self.input = new(["input_tokens", "inputTokens"]).or(self.input);
        self.cache_reads = new(["cache_read_input_tokens", "cacheReadInputTokens"]).or(self.cache_reads);
        self.cache_writes =
            new(["cache_creation_input_tokens", "cacheWriteInputTokens"]).or(self.cache_writes);
        self.output = new(["output_tokens", "outputTokens"]).or(self.output);
        let thinking = usage.and_then(|usage| usage.pointer("/output_tokens_details/thinking_tokens"));
        self.thinking = thinking.and_then(number).or(self.thinking);
    }

    /// Returns the counts, if there are any.
    pub(crate) fn counts(self) -> Option<contracts::Usage> {
        if self == Self::default() {
            return None;
        }
        let input = [self.input, self.cache_reads, self.cache_writes];
        let prompt_tokens =
            input.into_iter().flatten().fold(0, |sum: u64, tokens| sum.saturating_add(tokens));
        let completion_tokens = self.output.unwrap_or(0);
        Some(contracts::Usage {
            prompt_tokens,
            completion_tokens,
            total_tokens: prompt_tokens.saturating_add(completion_tokens),
            cached_tokens: self.cache_reads,
            cache_write_tokens: self.cache_writes,
            reasoning_tokens: self.thinking,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cached_input_counts_as_prompt_and_later_events_win() {
        let mut usage = Usage::default();
        assert_eq!(usage.counts(), None);
        usage.update(Some(&json!({
            "input_tokens": 10, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 1,
        })));
        usage.update(Some(&json!({ "output_tokens": 7, "output_tokens_details": { "thinking_tokens": 3 } })));
        let counts = usage.counts().unwrap();
        assert_eq!((counts.prompt_tokens, counts.completion_tokens, counts.total_tokens), (130, 7, 137));
        assert_eq!((counts.cached_tokens, counts.cache_write_tokens), (Some(100), Some(20)));
        assert_eq!(counts.reasoning_tokens, Some(3));
    }
}
