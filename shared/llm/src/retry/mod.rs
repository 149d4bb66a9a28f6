//! Whether to ask again, and when.
//!
//! Pure: time and chance come in as values. Only what failed before anything of its output was there may be
//! asked again, since there is no idempotency key upstream and output is paid for.

use std::time::Duration;

use agent::model::Error;

use crate::told::Told;

pub mod headers;

/// The longest that a provider's own wish to wait is granted; past it the turn had better fail.
pub const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// How often and how patiently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Attempts after the first.
    pub retries: u32,
    /// The wait before the first retry; it doubles with each.
    pub shortest: Duration,
    /// What the doubling stops at.
    pub longest: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self { retries: 2, shortest: Duration::from_millis(500), longest: Duration::from_secs(8) }
    }
}

/// An attempt that came to no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// How many attempts came before it.
    pub before: u32,
    /// The status it ended with; none when there was no response at all.
    pub status: Option<u16>,
    /// What the failure is called.
    pub error: Error,
    /// What the response's headers ask for.
    pub advice: headers::Advice,
    /// Whether anything of the output was there: then it was paid for, and may have been shown.
    pub has_output: bool,
    /// What an operator is told of it.
    pub told: Told,
}

impl Attempt {
    /// One that got no response, or none that it could use.
    #[must_use]
    pub fn without_response(before: u32, error: Error) -> Self {
        Self {
            before,
            status: None,
            error,
            advice: headers::Advice::default(),
            has_output: false,
            told: Told::default(),
        }
    }
}

impl Policy {
    /// How long to wait before the next attempt; nothing when the failure stands.
    ///
    /// `left` is what remains until the deadline: a wait that would use it up is not begun. `chance`
    /// from 0 to 1 takes up to a quarter off the wait, so that many callers don't return at once.
    pub fn wait(&self, attempt: &Attempt, left: Duration, chance: f64) -> Option<Duration> {
        if attempt.before >= self.retries || !may_pass(attempt) {
            return None;
        }
        let wait = match attempt.advice.retry_after {
            Some(wait) if wait > LONGEST_WAIT => return None,
            Some(wait) => wait,
            None => self.backoff(attempt.before, chance),
        };
        (wait < left).then_some(wait)
    }

    fn backoff(&self, before: u32, chance: f64) -> Duration {
        let doubled = self.shortest.saturating_mul(2_u32.saturating_pow(before));
        let share = 1.0 - 0.25 * chance.clamp(0.0, 1.0);
        doubled.min(self.longest).mul_f64(share)
    }
}

/// Whether another attempt could end differently. An empty account stays empty whatever is advised.
fn may_pass(attempt: &Attempt) -> bool {
    if attempt.error == Error::QuotaExceeded || attempt.has_output {
        return false;
    }
    let by_status = match attempt.status {
        // A response that failed or broke off before any output is as good as none.
        None => {
            matches!(attempt.error, Error::Unavailable { .. } | Error::RateLimited { .. } | Error::Malformed)
        }
        Some(status) => matches!(status, 408 | 409 | 429 | 500..),
    };
    attempt.advice.should_retry.unwrap_or(by_status)
}

#[cfg(test)]
mod tests;
