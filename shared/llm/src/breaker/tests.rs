use super::*;

const PAUSE: Duration = Duration::from_secs(10);

fn breaker(failures: u32) -> Breaker {
    Breaker::new(Policy { failures, pause: PAUSE })
}

fn call(breaker: &Breaker, reply: Result<(), Error>, now: Instant) -> Result<(), Error> {
    breaker.admit(now).map(|admission| admission.ended(reply.is_err_and(|error| is_outage(&error)), now))
}

fn failing(breaker: &Breaker, now: Instant) -> Result<(), Error> {
    call(breaker, Err(Error::UNAVAILABLE), now)
}

#[test]
fn after_so_many_failures_in_a_row_nobody_is_let_through_and_is_told_when() {
    let (breaker, now) = (breaker(3), Instant::now());
    for error in [Error::UNAVAILABLE, Error::TimedOut, Error::RateLimited { retry_after: None }] {
        call(&breaker, Err(error), now).unwrap();
    }
    let soon = now + Duration::from_secs(4);
    let left = Some(Duration::from_secs(6));
    assert_eq!(breaker.admit(soon).unwrap_err(), Error::Unavailable { retry_after: left });
}

#[test]
fn an_answer_of_whatever_kind_starts_the_count_again() {
    let (breaker, now) = (breaker(2), Instant::now());
    for _ in 0..5 {
        failing(&breaker, now).unwrap();
        call(&breaker, Err(Error::Rejected { status: 400 }), now).unwrap();
    }
}

#[test]
fn after_the_pause_one_call_finds_out_and_decides() {
    let (breaker, now) = (breaker(1), Instant::now());
    failing(&breaker, now).unwrap();
    let later = now + PAUSE;
    let probe = breaker.admit(later).unwrap();
    assert!(breaker.admit(later).is_err(), "one at a time");
    probe.ended(true, later);
    assert!(breaker.admit(later).is_err(), "it is not back");
    let last = later + PAUSE;
    call(&breaker, Err(Error::ContextTooLong), last).unwrap();
    failing(&breaker, last).unwrap();
    assert!(breaker.admit(last).is_err());
}

#[test]
fn a_call_that_was_given_up_leaves_it_to_the_next_to_find_out() {
    let (breaker, now) = (breaker(1), Instant::now());
    failing(&breaker, now).unwrap();
    drop(breaker.admit(now + PAUSE).unwrap());
    breaker.admit(now + PAUSE).unwrap();
}

#[test]
fn calls_that_began_before_do_not_lengthen_the_pause() {
    let (breaker, now) = (breaker(1), Instant::now());
    let slow = breaker.admit(now).unwrap();
    failing(&breaker, now).unwrap();
    slow.ended(true, now + PAUSE);
    breaker.admit(now + PAUSE).unwrap();
}

#[test]
fn without_a_number_everybody_is_let_through() {
    let (breaker, now) = (breaker(0), Instant::now());
    for _ in 0..100 {
        failing(&breaker, now).unwrap();
    }
}
