//! Attempts of a running turn: takeover, suspension, resumption and renewal.

use contracts::Fingerprint;

use super::{at, attempt, running};
use crate::{
    change::Condition,
    timing::Timing,
    transition::{renew, resume, settle, suspend, take_over},
    turn::{EndReason, State},
};

#[test]
fn expired_lease_allows_three_attempts_then_only_salvage() {
    let timing = Timing::default();
    let (_, mut turn) = running();
    let early = take_over::take_over(&turn, attempt("b"), take_over::Purpose::Retry, at(31), &timing);
    assert_eq!(early, Err(take_over::TakeOverError::LeaseActive { takeover_after: at(32) }));
    let mut now = 32;
    for name in ["b", "c"] {
        let change =
            take_over::take_over(&turn, attempt(name), take_over::Purpose::Retry, at(now), &timing).unwrap();
        assert_eq!(change.condition, Condition::same_lease(&turn));
        turn = change.after;
        now += 32;
    }
    let fourth = take_over::take_over(&turn, attempt("d"), take_over::Purpose::Retry, at(now), &timing);
    assert_eq!(fourth, Err(take_over::TakeOverError::NoAttemptLeft));
    let salvaged = take_over::take_over(&turn, attempt("d"), take_over::Purpose::Salvage, at(now), &timing)
        .unwrap()
        .after;
    let State::Running { stage, .. } = &salvaged.state else { panic!("the turn must still run") };
    assert_eq!(stage.attempts, [attempt("a"), attempt("b"), attempt("c")]);
}

#[test]
fn attempts_before_suspension_count_after_it() {
    let timing = Timing::default();
    let (_, turn) = running();
    let taken =
        take_over::take_over(&turn, attempt("b"), take_over::Purpose::Retry, at(32), &timing).unwrap().after;
    let waiting = suspend::suspend(&taken, attempt("b"), at(500)).unwrap().after;
    let results = Fingerprint::hash_bytes(b"results");
    let resumed = resume::resume(&waiting, attempt("c"), results, at(40), &timing).unwrap().after;
    let taken = take_over::take_over(&resumed, attempt("d"), take_over::Purpose::Retry, at(72), &timing)
        .unwrap()
        .after;
    let State::Running { stage, .. } = &taken.state else { panic!("the turn must run") };
    assert_eq!(stage.attempts, [attempt("c"), attempt("d")], "only of this stage");
    let again = take_over::take_over(&taken, attempt("e"), take_over::Purpose::Retry, at(104), &timing);
    assert_eq!(again, Err(take_over::TakeOverError::NoAttemptLeft), "taken over twice already");
}

#[test]
fn tool_results_start_new_stage_and_are_recorded() {
    let timing = Timing::default();
    let (_, turn) = running();
    let waiting = suspend::suspend(&turn, attempt("a"), at(500)).unwrap().after;
    assert_eq!(waiting.due, Some(at(500)));
    let results = Fingerprint::hash_bytes(b"results");
    let resumed = resume::resume(&waiting, attempt("b"), results, at(10), &timing).unwrap().after;
    let accepted = resumed.accepted_results.clone().unwrap();
    assert_eq!((accepted.round, accepted.results, accepted.suspended_by), (1, results, attempt("a")));
    let State::Running { stage, .. } = &resumed.state else { panic!("the turn must run") };
    assert_eq!((stage.round, stage.attempts.as_slice()), (1, [attempt("b")].as_slice()));
    assert!(resume::resume(&resumed, attempt("c"), results, at(11), &timing).is_err());
}

#[test]
fn lost_renewal_is_not_proved_by_foreign_settlement() {
    let timing = Timing::default();
    let (_, turn) = running();
    let renewal = renew::renew(&turn, at(60)).unwrap();
    let cancelled = settle::end(&turn, EndReason::Cancelled, at(10), &timing).unwrap().after;
    assert!(!renewal.was_applied(&cancelled));
    assert!(renewal.was_applied(&renew::renew(&turn, at(70)).unwrap().after), "a later renewal of ours");
    let start = crate::change::TurnChange { condition: Condition::Absent, after: turn.clone() };
    assert!(start.was_applied(&cancelled), "its attempt proves a start");
}
