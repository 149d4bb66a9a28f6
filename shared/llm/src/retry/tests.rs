use super::headers::Advice;
use super::*;
use crate::error_object::ErrorObject;
use crate::failure::{FailedResponse, classify_response};

const LONG: Duration = Duration::from_secs(600);

/// Classifies a status without a body.
fn classify(status: u16) -> Error {
    let error = &ErrorObject::default();
    classify_response(FailedResponse { status, error, retry_after: None, chained: false })
}

fn attempt(status: u16) -> FailedAttempt {
    FailedAttempt { status: Some(status), ..FailedAttempt::without_response(0, classify(status)) }
}

fn next_delay(attempt: &FailedAttempt) -> Option<Duration> {
    Policy::default().next_delay(attempt, LONG, 0.0)
}

fn without_response(error: Error) -> FailedAttempt {
    FailedAttempt { status: None, error, ..attempt(500) }
}

#[test]
fn only_transient_failures_are_retried() {
    for status in [408, 409, 429, 500, 502, 503, 504, 529] {
        assert!(next_delay(&attempt(status)).is_some(), "{status}");
    }
    for status in [400, 401, 402, 403, 404, 413, 422] {
        assert_eq!(next_delay(&attempt(status)), None, "{status}");
    }
    assert!(next_delay(&without_response(Error::UNAVAILABLE)).is_some());
    assert!(next_delay(&without_response(Error::Malformed)).is_some(), "it broke off before any output");
    assert!(next_delay(&without_response(Error::RateLimited { retry_after: None })).is_some());
    for error in [Error::UNAVAILABLE, Error::Malformed] {
        let started = FailedAttempt { has_output: true, ..without_response(error) };
        assert_eq!(next_delay(&started), None, "output is billed");
    }
    assert_eq!(next_delay(&without_response(Error::TimedOut)), None);
    assert_eq!(next_delay(&without_response(Error::Unauthenticated)), None);
}

#[test]
fn backoff_doubles_up_to_the_maximum() {
    let at = |prior_attempts| next_delay(&FailedAttempt { prior_attempts, ..attempt(500) });
    assert_eq!(at(0), Some(Duration::from_millis(500)));
    assert_eq!(at(1), Some(Duration::from_secs(1)));
    assert_eq!(at(2), None);
    let patient = Policy { retries: 100, ..Policy::default() };
    let last = FailedAttempt { prior_attempts: 99, ..attempt(500) };
    assert_eq!(patient.next_delay(&last, LONG, 0.0), Some(Duration::from_secs(8)));
}

#[test]
fn jitter_shortens_a_delay_by_up_to_a_quarter() {
    let policy = Policy::default();
    assert_eq!(policy.next_delay(&attempt(500), LONG, 1.0), Some(Duration::from_millis(375)));
    assert_eq!(policy.next_delay(&attempt(500), LONG, f64::INFINITY), Some(Duration::from_millis(375)));
    assert_eq!(policy.next_delay(&attempt(500), LONG, -1.0), Some(Duration::from_millis(500)));
}

#[test]
fn retry_after_is_honoured_up_to_the_maximum() {
    let advised = |seconds| {
        let advice = Advice { retry_after: Some(Duration::from_secs(seconds)), should_retry: None };
        FailedAttempt { advice, ..attempt(429) }
    };
    assert_eq!(next_delay(&advised(0)), Some(Duration::ZERO));
    assert_eq!(next_delay(&advised(20)), Some(Duration::from_secs(20)));
    assert_eq!(next_delay(&advised(61)), None);
}

#[test]
fn should_retry_header_overrides_the_status() {
    let advised = |status, should_retry| {
        let advice = Advice { retry_after: None, should_retry: Some(should_retry) };
        FailedAttempt { advice, ..attempt(status) }
    };
    assert_eq!(next_delay(&advised(500, false)), None);
    assert!(next_delay(&advised(400, true)).is_some());
    let empty = FailedAttempt { error: Error::QuotaExceeded, ..advised(429, true) };
    assert_eq!(next_delay(&empty), None);
}

#[test]
fn delay_past_the_deadline_is_not_started() {
    let policy = Policy::default();
    let half = Duration::from_millis(500);
    assert_eq!(policy.next_delay(&attempt(500), half, 0.0), None);
    assert_eq!(policy.next_delay(&attempt(500), Duration::from_millis(501), 0.0), Some(half));
    assert_eq!(policy.next_delay(&attempt(500), Duration::ZERO, 0.0), None);
}
