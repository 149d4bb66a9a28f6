//! Retries with exponential backoff.

use std::time::Duration;

use tokio::time::Instant;

use crate::error::{Error, Retry};

/// The most consecutive retries without progress.
const MAX_RETRIES: u32 = 10;
/// The longest time to keep retrying without progress.
const MAX_ELAPSED: Duration = Duration::from_secs(15 * 60);
/// The longest time to keep retrying an API that has never answered.
const MAX_UNREACHABLE: Duration = Duration::from_secs(5);
/// The first delay. Each following delay is twice as long.
const INITIAL_DELAY: Duration = Duration::from_millis(250);
/// The longest delay, unless the API asks for a longer one.
const MAX_DELAY: Duration = Duration::from_secs(8);

/// The retry state since the last progress.
#[derive(Debug)]
pub(crate) struct Backoff {
    failures: u32,
    started: Instant,
    /// Set once the API has answered.
    was_reached: bool,
}

impl Backoff {
    pub(crate) fn new() -> Self {
        Self { failures: 0, started: Instant::now(), was_reached: false }
    }

    /// Resets the retry state after progress.
    pub(crate) fn reset(&mut self) {
        *self = Self { was_reached: true, ..Self::new() };
    }

    /// Returns the delay before the next retry, or the error if no retry is left.
    pub(crate) fn next_delay(&mut self, error: Error) -> Result<Duration, Error> {
        if error.retry() != Retry::SameRequest || self.failures >= MAX_RETRIES {
            return Err(error);
        }
        let max_delay = INITIAL_DELAY.saturating_mul(1 << self.failures).min(MAX_DELAY);
        // Half of the delay is random, so that clients that failed together don't retry together.
        let delay =
            max_delay.mul_f64(0.5 + fastrand::f64() / 2.0).max(error.retry_after().unwrap_or_default());
        self.was_reached |= !matches!(error, Error::Unreachable(_));
        let max_elapsed = if self.was_reached { MAX_ELAPSED } else { MAX_UNREACHABLE };
        if self.started.elapsed() + delay > max_elapsed {
            return Err(error);
        }
        self.failures += 1;
        Ok(delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_are_limited_and_reset_by_progress() {
        let mut backoff = Backoff::new();
        let delays: Vec<_> = std::iter::from_fn(|| backoff.next_delay(Error::Interrupted).ok()).collect();
        assert_eq!(delays.len(), MAX_RETRIES as usize);
        assert!(delays.iter().all(|delay| *delay <= MAX_DELAY));
        backoff.reset();
        assert!(backoff.next_delay(Error::Interrupted).is_ok());
    }

    #[test]
    fn unreachable_api_gets_few_seconds_until_it_has_answered() {
        let unreachable = || Error::Unreachable("http://127.0.0.1:9".to_owned());
        let mut backoff = Backoff::new();
        assert!(backoff.next_delay(unreachable()).is_ok());
        backoff.started -= MAX_UNREACHABLE;
        assert_eq!(backoff.next_delay(unreachable()), Err(unreachable()));
        backoff.reset();
        backoff.started -= MAX_UNREACHABLE;
        assert!(backoff.next_delay(unreachable()).is_ok(), "it may be restarting");
    }

    #[test]
    fn permanent_error_not_retried() {
        assert_eq!(
            Backoff::new().next_delay(Error::UnexpectedResponse(404)),
            Err(Error::UnexpectedResponse(404))
        );
    }
}
