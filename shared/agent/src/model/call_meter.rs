//! The meter of a model call, which is readable at any moment: a call that is dropped leaves what it has used.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contracts::Usage;
use protocol::spent::MeteredUsage;

use crate::text::{estimate_piece_tokens, estimate_tokens};

/// The most bytes of a response's id, which heads and checkpoints repeat. A longer one isn't kept.
const MAX_ID_BYTES: usize = 256;

/// The meter of one model call. Clones share it.
///
/// A call may send its request several times, and each of these exchanges may be paid for. An exchange whose usage
/// the provider doesn't tell is estimated: the request as composed, the output as received.
#[derive(Debug, Clone, Default)]
pub struct CallMeter(Arc<Mutex<Readings>>);

#[derive(Debug, Default)]
struct Readings {
    /// Estimated tokens of the request.
    input_tokens: u64,
    /// The usage of the exchanges that have ended.
    ended: Option<MeteredUsage>,
    /// The exchange that runs.
    open: Option<Exchange>,
    /// The last stored response whose usage wasn't told, with its estimate.
    pending: Option<(String, MeteredUsage)>,
}

/// A request that was sent, and its response so far.
#[derive(Debug, Clone, Default)]
struct Exchange {
    /// The id of the response, if the provider stores it.
    response_id: Option<String>,
    /// The counts that the provider has told so far.
    told: Usage,
    /// The estimated tokens of the output.
    output_tokens: u64,
    /// Its size in bytes.
    bytes: usize,
}

impl CallMeter {
    /// Creates a meter for a call whose request has about this many tokens.
    #[must_use]
    pub fn new(input_tokens: u64) -> Self {
        Self(Arc::new(Mutex::new(Readings { input_tokens, ..Readings::default() })))
    }

    /// Records that the request is sent. From now on it counts, unless the provider refuses it.
    pub fn send(&self) {
        let mut readings = self.readings();
        readings.end();
        readings.open = Some(Exchange::default());
    }

    /// Records that the request wasn't answered at all, or was refused. No provider charges for that.
    pub fn refuse(&self) {
        self.readings().open = None;
    }

    /// Records the id of a response that the provider stores. Its usage can be read there, if it isn't told.
    pub fn identify(&self, response_id: String) {
        if (1..=MAX_ID_BYTES).contains(&response_id.len()) {
            self.readings().open.get_or_insert_default().response_id = Some(response_id);
        }
    }

    /// Records a piece of output, of any kind.
    pub fn receive(&self, piece: &str) {
        self.readings().open.get_or_insert_default().add(estimate_piece_tokens(piece), piece.len());
    }

    /// Records the size of the whole output, of which pieces may have been received before.
    pub fn receive_whole(&self, bytes: usize) {
        let mut readings = self.readings();
        let open = readings.open.get_or_insert_default();
        let rest = bytes.saturating_sub(open.bytes);
        open.add(estimate_tokens(u64::try_from(rest).unwrap_or(u64::MAX)), rest);
    }

    /// Records counts that the provider tells before the end of its response. Later ones replace them.
    pub fn tell(&self, usage: Usage) {
        self.readings().open.get_or_insert_default().told = usage;
    }

    /// Ends the exchange with the usage that the provider tells for the whole response.
    pub fn settle(&self, usage: Usage) {
        let mut readings = self.readings();
        let open = readings.open.take().unwrap_or_default();
        // The whole output is told, unless it is said to be none.
        let output_tokens = if usage.completion_tokens == 0 { open.output_tokens } else { 0 };
        let metered = Exchange { told: usage, output_tokens, ..open }.estimate(readings.input_tokens);
        readings.add(metered);
    }

    /// Ends the exchange. If the provider didn't tell its usage, it is estimated.
    pub fn end(&self) {
        self.readings().end();
    }

    /// Returns the usage so far, the exchange that runs included. `None` if nothing was sent that counts.
    #[must_use]
    pub fn usage(&self) -> Option<MeteredUsage> {
        let readings = self.readings();
        let open = readings.open.as_ref().map(|open| open.estimate(readings.input_tokens));
        sum(readings.ended, open)
    }

    /// Returns the last stored response whose usage the provider hasn't told, with the estimate that [`Self::usage`] has for
    /// it.
    #[must_use]
    pub fn pending(&self) -> Option<(String, MeteredUsage)> {
        let readings = self.readings();
        let open = readings.open.as_ref().and_then(|open| open.pending(readings.input_tokens));
        open.or_else(|| readings.pending.clone())
    }

    fn readings(&self) -> MutexGuard<'_, Readings> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Readings {
    fn end(&mut self) {
        if let Some(open) = self.open.take() {
            self.add(open.estimate(self.input_tokens));
            self.pending = open.pending(self.input_tokens).or_else(|| self.pending.take());
        }
    }

    fn add(&mut self, metered: MeteredUsage) {
        self.ended = sum(self.ended, Some(metered));
    }
}

impl Exchange {
    /// Estimates the counts that the provider didn't tell. Zero input is no plausible count, nor is less output than
    /// was received.
    fn estimate(&self, input_tokens: u64) -> MeteredUsage {
        let Usage { prompt_tokens, completion_tokens, .. } = self.told;
        let prompt = if prompt_tokens == 0 { input_tokens } else { prompt_tokens };
        let completion = completion_tokens.max(self.output_tokens);
        let unknown = (prompt - prompt_tokens.min(prompt)) + (completion - completion_tokens);
        let usage = Usage {
            prompt_tokens: prompt,
            completion_tokens: completion,
            total_tokens: self.told.total_tokens.max(prompt.saturating_add(completion)),
            ..self.told
        };
        MeteredUsage { usage, estimated_tokens: unknown }
    }

    fn pending(&self, input_tokens: u64) -> Option<(String, MeteredUsage)> {
        let estimate = self.estimate(input_tokens);
        self.response_id.clone().filter(|_| estimate.estimated_tokens > 0).map(|id| (id, estimate))
    }

    fn add(&mut self, tokens: u64, bytes: usize) {
        self.output_tokens = self.output_tokens.saturating_add(tokens);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

fn sum(before: Option<MeteredUsage>, now: Option<MeteredUsage>) -> Option<MeteredUsage> {
    match (before, now) {
        (Some(before), Some(now)) => Some(before.plus(now)),
        (before, now) => before.or(now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(prompt: u64, completion: u64) -> Usage {
        MeteredUsage::estimated(prompt, completion).usage
    }

    fn counts(meter: &CallMeter) -> Option<(u64, u64, u64)> {
        let MeteredUsage { usage, estimated_tokens } = meter.usage()?;
        Some((usage.prompt_tokens, usage.completion_tokens, estimated_tokens))
    }

    #[test]
    fn call_that_sent_nothing_has_no_usage() {
        let meter = CallMeter::new(100);
        assert_eq!(counts(&meter), None);
        meter.send();
        assert_eq!(counts(&meter), Some((100, 0, 100)), "the request was sent, and is paid for");
        meter.refuse();
        assert_eq!(counts(&meter), None);
    }

    #[test]
    fn told_usage_replaces_the_estimate() {
        let meter = CallMeter::new(100);
        meter.send();
        (0..7).for_each(|_| meter.receive("word "));
        assert_eq!(counts(&meter), Some((100, 7, 107)), "a piece per token");
        meter.tell(told(80, 1));
        assert_eq!(counts(&meter), Some((80, 7, 6)), "the input is told, the output so far is not");
        meter.settle(told(80, 9));
        assert_eq!(counts(&meter), Some((80, 9, 0)));
        meter.end();
        assert_eq!(counts(&meter), Some((80, 9, 0)), "the exchange has ended already");
    }

    #[test]
    fn every_exchange_of_a_call_counts() {
        let meter = CallMeter::new(10);
        meter.send();
        meter.send();
        meter.receive("one");
        meter.end();
        meter.send();
        meter.settle(told(12, 5));
        assert_eq!(counts(&meter), Some((32, 6, 21)));
    }

    #[test]
    fn stored_response_is_pending_until_its_usage_is_told() {
        let meter = CallMeter::new(10);
        meter.send();
        meter.receive("one");
        assert_eq!(meter.pending(), None, "its id is unknown");
        meter.identify("r1".to_owned());
        assert_eq!(meter.pending(), Some(("r1".to_owned(), MeteredUsage::estimated(10, 1))));
        meter.end();
        assert_eq!(meter.pending(), Some(("r1".to_owned(), MeteredUsage::estimated(10, 1))));
        meter.send();
        meter.identify("r2".to_owned());
        assert_eq!(meter.pending(), Some(("r2".to_owned(), MeteredUsage::estimated(10, 0))));
        meter.settle(told(12, 5));
        assert_eq!(meter.pending().map(|(id, _)| id), Some("r1".to_owned()));
        assert_eq!(counts(&meter), Some((22, 6, 11)));
        let refused = CallMeter::new(10);
        refused.send();
        refused.identify("r3".to_owned());
        refused.refuse();
        assert_eq!(refused.pending(), None);
        refused.send();
        refused.identify("r".repeat(MAX_ID_BYTES + 1));
        assert_eq!(refused.pending(), None);
    }

    #[test]
    fn zeros_are_no_counts() {
        let meter = CallMeter::new(10);
        meter.send();
        meter.receive("one");
        meter.settle(Usage::default());
        assert_eq!(counts(&meter), Some((10, 1, 11)));
        let without_output = CallMeter::new(10);
        without_output.send();
        without_output.settle(told(12, 0));
        assert_eq!(counts(&without_output), Some((12, 0, 0)));
    }

    #[test]
    fn whole_output_counts_what_was_not_received_before() {
        let meter = CallMeter::new(0);
        meter.send();
        meter.receive("word ");
        meter.receive_whole(5);
        assert_eq!(counts(&meter), Some((0, 1, 1)));
        meter.receive_whole(405);
        assert_eq!(counts(&meter), Some((0, 101, 101)));
    }
}
