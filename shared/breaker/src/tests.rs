use super::*;

const PAUSE: Duration = Duration::from_secs(10);

fn breaker(failures: u32) -> Breaker {
    Breaker::new(Policy { failures, pause: PAUSE })
}

fn call(breaker: &Breaker, was_outage: bool, now: Instant) -> Result<(), Open> {
    breaker.acquire(now).map(|permit| permit.record(was_outage, now))
}

fn failing(breaker: &Breaker, now: Instant) -> Result<(), Open> {
    call(breaker, true, now)
}

#[test]
fn consecutive_failures_open_the_breaker_for_the_pause() {
    let (breaker, now) = (breaker(3), Instant::now());
    for _ in 0..3 {
        failing(&breaker, now).unwrap();
    }
    let during_pause = now + Duration::from_secs(4);
    assert_eq!(breaker.acquire(during_pause).unwrap_err(), Open { remaining: Duration::from_secs(6) });
}

#[test]
fn any_response_resets_the_failure_count() {
    let (breaker, now) = (breaker(2), Instant::now());
    for _ in 0..5 {
        failing(&breaker, now).unwrap();
        call(&breaker, false, now).unwrap();
    }
}

#[test]
fn half_open_breaker_lets_one_probe_decide() {
    let (breaker, now) = (breaker(1), Instant::now());
    failing(&breaker, now).unwrap();
    let later = now + PAUSE;
    let probe = breaker.acquire(later).unwrap();
    assert!(breaker.acquire(later).is_err(), "one at a time");
    probe.record(true, later);
    assert!(breaker.acquire(later).is_err(), "it is not back");
    let last = later + PAUSE;
    call(&breaker, false, last).unwrap();
    failing(&breaker, last).unwrap();
    assert!(breaker.acquire(last).is_err());
}

#[test]
fn dropped_probe_leaves_the_breaker_to_the_next_call() {
    let (breaker, now) = (breaker(1), Instant::now());
    failing(&breaker, now).unwrap();
    drop(breaker.acquire(now + PAUSE).unwrap());
    breaker.acquire(now + PAUSE).unwrap();
}

#[test]
fn calls_started_earlier_do_not_extend_the_pause() {
    let (breaker, now) = (breaker(1), Instant::now());
    let slow = breaker.acquire(now).unwrap();
    failing(&breaker, now).unwrap();
    slow.record(true, now + PAUSE);
    breaker.acquire(now + PAUSE).unwrap();
}

#[test]
fn zero_failures_disables_the_breaker() {
    let (breaker, now) = (breaker(0), Instant::now());
    for _ in 0..100 {
        failing(&breaker, now).unwrap();
    }
}
