use super::headers::Advice;
use super::*;
use crate::failure::{Refused, of_refused};
use crate::wire::error::ErrorObject;

const LONG: Duration = Duration::from_secs(600);

/// What a status alone stands for.
fn refusal(status: u16) -> Error {
    let error = &ErrorObject::default();
    of_refused(Refused { status, error, retry_after: None, chained: false })
}

fn attempt(status: u16) -> Attempt {
    Attempt { status: Some(status), ..Attempt::without_response(0, refusal(status)) }
}

fn wait(attempt: &Attempt) -> Option<Duration> {
    Policy::default().wait(attempt, LONG, 0.0)
}

fn without_response(error: Error) -> Attempt {
    Attempt { status: None, error, ..attempt(500) }
}

#[test]
fn what_may_pass_is_asked_again_and_nothing_else() {
    for status in [408, 409, 429, 500, 502, 503, 504, 529] {
        assert!(wait(&attempt(status)).is_some(), "{status}");
    }
    for status in [400, 401, 402, 403, 404, 413, 422] {
        assert_eq!(wait(&attempt(status)), None, "{status}");
    }
    assert!(wait(&without_response(Error::UNAVAILABLE)).is_some());
    assert!(wait(&without_response(Error::Malformed)).is_some(), "it broke off before any output");
    assert!(wait(&without_response(Error::RateLimited { retry_after: None })).is_some());
    for error in [Error::UNAVAILABLE, Error::Malformed] {
        let begun = Attempt { has_output: true, ..without_response(error) };
        assert_eq!(wait(&begun), None, "what was written is paid for");
    }
    assert_eq!(wait(&without_response(Error::TimedOut)), None);
    assert_eq!(wait(&without_response(Error::Unauthenticated)), None);
}

#[test]
fn waits_double_up_to_the_longest_and_end_after_two() {
    let at = |before| wait(&Attempt { before, ..attempt(500) });
    assert_eq!(at(0), Some(Duration::from_millis(500)));
    assert_eq!(at(1), Some(Duration::from_secs(1)));
    assert_eq!(at(2), None);
    let patient = Policy { retries: 100, ..Policy::default() };
    let late = Attempt { before: 99, ..attempt(500) };
    assert_eq!(patient.wait(&late, LONG, 0.0), Some(Duration::from_secs(8)));
}

#[test]
fn chance_takes_up_to_a_quarter_off() {
    let policy = Policy::default();
    assert_eq!(policy.wait(&attempt(500), LONG, 1.0), Some(Duration::from_millis(375)));
    assert_eq!(policy.wait(&attempt(500), LONG, f64::INFINITY), Some(Duration::from_millis(375)));
    assert_eq!(policy.wait(&attempt(500), LONG, -1.0), Some(Duration::from_millis(500)));
}

#[test]
fn the_providers_wish_is_honoured_within_reason() {
    let advised = |seconds| {
        let advice = Advice { retry_after: Some(Duration::from_secs(seconds)), should_retry: None };
        Attempt { advice, ..attempt(429) }
    };
    assert_eq!(wait(&advised(0)), Some(Duration::ZERO));
    assert_eq!(wait(&advised(20)), Some(Duration::from_secs(20)));
    assert_eq!(wait(&advised(61)), None);
}

#[test]
fn the_provider_decides_when_it_says_so() {
    let advised = |status, should_retry| {
        let advice = Advice { retry_after: None, should_retry: Some(should_retry) };
        Attempt { advice, ..attempt(status) }
    };
    assert_eq!(wait(&advised(500, false)), None);
    assert!(wait(&advised(400, true)).is_some());
    let empty = Attempt { error: Error::QuotaExceeded, ..advised(429, true) };
    assert_eq!(wait(&empty), None);
}

#[test]
fn a_wait_that_outlasts_the_deadline_is_not_begun() {
    let policy = Policy::default();
    let half = Duration::from_millis(500);
    assert_eq!(policy.wait(&attempt(500), half, 0.0), None);
    assert_eq!(policy.wait(&attempt(500), Duration::from_millis(501), 0.0), Some(half));
    assert_eq!(policy.wait(&attempt(500), Duration::ZERO, 0.0), None);
}
