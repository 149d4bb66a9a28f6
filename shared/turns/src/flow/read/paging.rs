//! Pages of reads: their tokens, and the reads that fill them.

use crate::refusal::Refusal;

/// The number of concurrent reads. A page refers to few contexts, and the store caches those that it read lately.
pub(crate) const MAX_CONCURRENT_READS: usize = 8;

/// Parses a token of a session's turns: a sequence number.
pub(crate) fn parse_sequence(token: Option<&str>) -> Result<Option<u64>, Refusal> {
    let number = |text: &str| text.parse().ok().filter(|number: &u64| number.to_string() == text);
    token.map(|token| number(token).ok_or_else(Refusal::invalid_continuation_token)).transpose()
}
