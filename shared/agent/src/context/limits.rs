//! Limits of contexts and of their members (I13). Those of client tools are in `tool/client_tool_check.rs`.

use std::ops::RangeInclusive;

use crate::retrieval::MAX_CHUNKS;

/// The size of a file of contexts.
pub(super) const MAX_FILE_BYTES: usize = 4 * 1024 * 1024;
/// The size of one context as JSON, which must fit in one table item.
pub(super) const MAX_CONTEXT_BYTES: usize = 100_000;
/// `Name`.
pub(super) const MAX_NAME_CHARS: usize = 128;
/// `Description`: the first thing that a client with many agents gives its model.
pub(super) const MAX_DESCRIPTION_CHARS: usize = 1_000;
/// `ModelName`.
pub(super) const MAX_MODEL_NAME_CHARS: usize = 128;
/// `Collection`.
pub(super) const MAX_COLLECTION_CHARS: usize = 128;
/// `Dimensions`.
pub(super) const DIMENSIONS: RangeInclusive<u32> = 1..=8_192;

/// `Temperature`.
pub(super) const TEMPERATURE: RangeInclusive<f64> = 0.0..=2.0;
/// `TopP`.
pub(super) const TOP_P: RangeInclusive<f64> = 0.0..=1.0;
/// `MaxOutputTokens`; the API rejects less than 16.
pub(super) const MAX_OUTPUT_TOKENS: RangeInclusive<u32> = 16..=1_000_000;
/// `ToolDeadlineSeconds`: from a minute, which a person needs to answer a question, to a week.
pub(super) const TOOL_DEADLINE_SECONDS: RangeInclusive<u32> = 60..=7 * 24 * 60 * 60;
/// `RetentionDays`: from none at all to ten years.
pub(super) const RETENTION_DAYS: RangeInclusive<u32> = 0..=3_650;
/// `HostedTools`.
pub(super) const MAX_HOSTED_TOOLS: usize = 8;
/// `Fallbacks`.
pub(super) const MAX_FALLBACKS: usize = 4;
/// `MaxRounds`.
pub(super) const MAX_ROUNDS: RangeInclusive<u32> = 1..=64;
/// The token limits of `PromptLimits`.
pub(super) const PROMPT_TOKENS: RangeInclusive<u32> = 0..=2_000_000;
/// `PromptLimits.ContextChunks`.
pub(super) const CONTEXT_CHUNKS: RangeInclusive<u32> = 0..=MAX_CHUNKS;

/// The default of `ToolDeadlineSeconds`: a day.
pub(super) const fn default_tool_deadline_seconds() -> u32 {
    24 * 60 * 60
}

/// The default of `MaxRounds`.
pub(super) const fn default_max_rounds() -> u32 {
    16
}
