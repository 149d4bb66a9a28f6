//! The retry policy.
//!
//! Pure: time and jitter are arguments. Retries only calls that failed before any output arrived, since the API has no
//! idempotency keys and output is billed.

use std::time::Duration;

use agent::model::Error;

use crate::error_info::ErrorInfo;

pub mod headers;

/// The longest `retry-after` that is honoured. Beyond it the turn fails, since its client and its lease wait meanwhile.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);

/// The error code of AWS for expired credentials.
const EXPIRED_TOKEN: &str = "ExpiredTokenException";

/// The number of retries and their backoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The number of attempts after the first.
    pub retries: u32,
    /// The delay before the first retry. It doubles with each retry.
    pub initial_backoff: Duration,
    /// The upper bound of the delay.
    pub max_backoff: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self { retries: 2, initial_backoff: Duration::from_millis(500), max_backoff: Duration::from_secs(8) }
    }
}

/// An attempt without a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedAttempt {
    /// The number of attempts before this one.
    pub prior_attempts: u32,
    /// The HTTP status. `None` if there was no response.
    pub status: Option<u16>,
    /// The classified error.
    pub error: Error,
    /// The response's retry headers.
    pub advice: headers::Advice,
    /// True if any output arrived. It is billed, and may have been shown.
    pub has_output: bool,
    /// Details for the log.
    pub info: ErrorInfo,
    /// The provider's message, or the cause of a missing response. For classification, and for developers (I14).
    pub message: Option<String>,
}

impl FailedAttempt {
    /// Creates an attempt without a response, or without a usable one.
    #[must_use]
    pub fn without_response(prior_attempts: u32, error: Error) -> Self {
        Self {
            prior_attempts,
            status: None,
            error,
            advice: headers::Advice::default(),
            has_output: false,
            info: ErrorInfo::default(),
            message: None,
        }
    }
}

impl FailedAttempt {
    /// True if the provider rejected the key, so that a fresh one may help. AWS answers 403 to expired credentials.
    #[must_use]
    pub fn is_key_rejected(&self) -> bool {
        self.status == Some(401) || self.info.code.as_deref() == Some(EXPIRED_TOKEN)
    }
}

impl Policy {
    /// Returns the delay before the next attempt, or `None` if the failure is final.
    ///
    /// `remaining` is the time until the deadline: a delay that would use it up is not started. `jitter`, from 0 to 1,
    /// takes up to a quarter off the delay, so that many callers don't retry at once.
    pub fn next_delay(&self, attempt: &FailedAttempt, remaining: Duration, jitter: f64) -> Option<Duration> {
        if attempt.prior_attempts >= self.retries || !is_retryable(attempt) {
            return None;
        }
        let delay = match attempt.advice.retry_after {
            Some(delay) if delay > MAX_RETRY_AFTER => return None,
            Some(delay) => delay,
            None => self.backoff(attempt.prior_attempts, jitter),
        };
        (delay < remaining).then_some(delay)
    }

    fn backoff(&self, prior_attempts: u32, jitter: f64) -> Duration {
        let doubled = self.initial_backoff.saturating_mul(2_u32.saturating_pow(prior_attempts));
        let share = 1.0 - 0.25 * jitter.clamp(0.0, 1.0);
        doubled.min(self.max_backoff).mul_f64(share)
    }
}

/// True if another attempt could succeed. An exhausted quota is final, whatever the headers say.
fn is_retryable(attempt: &FailedAttempt) -> bool {
    if attempt.error == Error::QuotaExceeded || attempt.has_output {
        return false;
    }
    let by_status = match attempt.status {
        // A response that failed or broke off before any output counts as no response.
        None => {
            matches!(attempt.error, Error::Unavailable { .. } | Error::RateLimited { .. } | Error::Malformed)
        }
        Some(status) => matches!(status, 408 | 409 | 424 | 429 | 500..),
    };
    attempt.advice.should_retry.unwrap_or(by_status)
}

#[cfg(test)]
mod tests;
