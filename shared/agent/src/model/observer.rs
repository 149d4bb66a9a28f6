//! The observer of a model call.

use std::time::Duration;

use bytes::Bytes;
use contracts::Usage;

use crate::model::CallMeter;

/// The maximum size of the reasoning of a call that is passed on, in bytes.
const MAX_REASONING_BYTES: usize = 256 << 10;

/// Callbacks and results of one model call. It outlives the call, so the usage of a failed reply is known too.
pub struct Observer<'a> {
    /// Receives the text while it is written. The reply has the complete text.
    pub deltas: &'a mut (dyn FnMut(&str) + Send),
    /// Receives the reasoning while it is written, as far as the provider shows it.
    pub reasoning: Option<&'a mut (dyn FnMut(&str) + Send)>,
    /// The bytes of reasoning so far.
    reasoning_bytes: usize,
    /// Receives the pause before a retry, and none when the retry starts.
    pub pauses: Option<&'a mut (dyn FnMut(Option<Duration>) + Send)>,
    /// Tokens used, if the provider reports them.
    pub usage: Option<Usage>,
    /// The meter of the call, which estimates what the provider doesn't report.
    pub meter: CallMeter,
    /// True if there was any output.
    pub has_output: bool,
    /// The provider's id of a reply that didn't complete, if known.
    pub failed_response_id: Option<String>,
    /// The raw payloads, filled in if set.
    pub raw: Option<RawPayloads>,
    /// The provider's address and message about a failure, on a developer's machine only (I14).
    pub failure: Option<String>,
}

/// The raw payloads of one model call, bounded in size. They never contain headers, so never a key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawPayloads {
    /// The request body as sent; empty if nothing was sent.
    pub request: Bytes,
    /// The final response of the stream, else the received body. Empty if nothing arrived.
    pub response: Bytes,
}

impl<'a> Observer<'a> {
    /// Creates an observer that sends text to `deltas` and captures no raw payloads.
    #[must_use]
    pub fn new(deltas: &'a mut (dyn FnMut(&str) + Send)) -> Self {
        Self {
            deltas,
            reasoning: None,
            reasoning_bytes: 0,
            pauses: None,
            usage: None,
            meter: CallMeter::default(),
            has_output: false,
            failed_response_id: None,
            raw: None,
            failure: None,
        }
    }

    /// Passes reasoning to `reasoning`.
    #[must_use]
    pub fn with_reasoning(self, reasoning: &'a mut (dyn FnMut(&str) + Send)) -> Self {
        Self { reasoning: Some(reasoning), ..self }
    }

    /// Passes on a piece of reasoning. A blank line precedes a piece that starts a part. Drops what is beyond
    /// 256 KiB of a call.
    pub fn push_reasoning(&mut self, starts_part: bool, piece: &str) {
        let Some(reasoning) = &mut self.reasoning else { return };
        let gap = if starts_part && self.reasoning_bytes > 0 { "\n\n" } else { "" };
        for text in [gap, piece].into_iter().filter(|text| !text.is_empty()) {
            self.reasoning_bytes = self.reasoning_bytes.saturating_add(text.len());
            if self.reasoning_bytes <= MAX_REASONING_BYTES {
                reasoning(text);
            }
        }
    }

    /// Reports pauses to `pauses`.
    #[must_use]
    pub fn with_pauses(self, pauses: &'a mut (dyn FnMut(Option<Duration>) + Send)) -> Self {
        Self { pauses: Some(pauses), ..self }
    }

    /// Reports a pause before a retry, or its end.
    pub fn report_pause(&mut self, pause: Option<Duration>) {
        if let Some(pauses) = &mut self.pauses {
            pauses(pause);
        }
    }

    /// Measures the call with `meter`, which its owner can read while the call runs.
    #[must_use]
    pub fn with_meter(self, meter: CallMeter) -> Self {
        Self { meter, ..self }
    }

    /// Passes on a piece of text.
    pub fn push_text(&mut self, piece: &str) {
        (self.deltas)(piece);
    }

    /// Adds the usage of a whole response, if the provider reports it. A call may have more than one.
    pub fn add_usage(&mut self, usage: Option<Usage>) {
        if let Some(usage) = usage {
            self.meter.settle(usage);
        }
        self.sum_usage(usage);
    }

    /// Adds the usage of a response that broke off, as far as the provider reported it.
    pub fn add_partial_usage(&mut self, usage: Option<Usage>) {
        self.sum_usage(usage);
    }

    fn sum_usage(&mut self, usage: Option<Usage>) {
        self.usage = match (self.usage, usage) {
            (Some(before), Some(now)) => Some(before.saturating_add(now)),
            (before, now) => before.or(now),
        };
    }

    /// Captures the raw payloads if `wanted`.
    #[must_use]
    pub fn with_raw_payloads(self, wanted: bool) -> Self {
        Self { raw: wanted.then(RawPayloads::default), ..self }
    }
}

impl std::fmt::Debug for Observer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Observer").field("usage", &self.usage).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasoning_is_passed_on_in_parts_up_to_its_limit() {
        let (mut passed, mut deltas) = (String::new(), |_: &str| {});
        let mut reasoning = |piece: &str| passed.push_str(piece);
        let mut observer = Observer::new(&mut deltas).with_reasoning(&mut reasoning);
        for (starts_part, piece) in [(true, "Let"), (false, " me."), (true, "Now.")] {
            observer.push_reasoning(starts_part, piece);
        }
        observer.push_reasoning(false, &"a".repeat(MAX_REASONING_BYTES));
        assert_eq!(passed, "Let me.\n\nNow.");
    }
}
