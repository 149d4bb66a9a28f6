//! A continuation against whatever else may decide the turn: one of them wins, the other hears why.
//!
//! Every race runs under many seeds, which draw how long each call on a port takes; both outcomes of a
//! race must be seen.

use std::{collections::BTreeMap, time::Duration};

use contracts::{ErrorCode, ToolContinuation};
use protocol::{
    timing::Timing,
    turn::{Reason, Verdict},
};
use testkit::{
    client::Calls,
    deployment::{Deployment, Done, Sent, Settings},
    schedule::{Faults, Happened, Pace, Process},
};
use turns::refusal::Refusal;

use super::{BUDGET, calls, error, execute};

const SEEDS: u64 = 300;

/// What somebody who sent something observer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Observer {
    Answer(Vec<u8>),
    Refused(ErrorCode),
    /// The sweep and a cancel have no answer to give.
    Done,
}

/// A turn that waits for results, in a deployment whose calls take a drawn time.
fn waiting(seed: u64) -> (Deployment, Sent, Calls) {
    let timing = Timing { longest_tool_wait: Duration::from_secs(30), ..Timing::default() };
    let settings = Settings { seed, pace: Pace::Drawn, timing, ..Settings::quiet() };
    let mut deployment = Deployment::new(settings);
    let sent = Sent::new("ann", "s", "t1", "Go calls: sc");
    let waits = calls(execute(&mut deployment, &sent));
    (deployment, sent, waits)
}

fn submit(deployment: &mut Deployment, sent: &Sent, results: &ToolContinuation) -> Process {
    deployment.resume(&sent.caller, results, BUDGET, Faults::None)
}

/// Runs until both are over.
fn both(deployment: &mut Deployment, one: &Process, other: &Process) -> (Observer, Observer) {
    let mut observer = BTreeMap::new();
    while observer.len() < 2 {
        let happened = deployment.step(Duration::MAX, &Faults::None).expect("both come to an end");
        if let Happened::Finished(process, done) = happened
            && (process == one.id() || process == other.id())
        {
            observer.insert(process, told(done));
        }
    }
    (observer.remove(&one.id()).unwrap(), observer.remove(&other.id()).unwrap())
}

fn told(done: Done) -> Observer {
    match done {
        Done::Executed(Ok(body)) => match error(&body) {
            None => Observer::Answer(body),
            Some(code) => Observer::Refused(code),
        },
        Done::Executed(Err(refusal)) | Done::Cancelled(Err(refusal)) => Observer::Refused(code(&refusal)),
        Done::Cancelled(Ok(())) | Done::Swept(Ok(_)) => Observer::Done,
        other => panic!("it fails: {other:?}"),
    }
}

fn code(refusal: &Refusal) -> ErrorCode {
    refusal.error().error_code
}

/// How the turn was ended from outside, if it was.
fn ended(deployment: &Deployment, sent: &Sent) -> Option<Reason> {
    let contents = deployment.table.contents();
    match contents.heads[&sent.turn()].settlement().expect("it is settled").verdict {
        Verdict::Ended(reason) => Some(reason),
        Verdict::Completed { .. } | Verdict::Failed { .. } => None,
    }
}

/// Counts how the seeds ended, and holds every one to the invariants.
fn tally<K: Ord>(race: impl Fn(&mut Deployment, &Sent, &Calls) -> K) -> BTreeMap<K, u64> {
    let mut seen = BTreeMap::new();
    for seed in 0..SEEDS {
        let (mut deployment, sent, waits) = waiting(seed);
        *seen.entry(race(&mut deployment, &sent, &waits)).or_default() += 1;
        assert_eq!(deployment.violations(), [], "seed {seed}");
    }
    seen
}

#[test]
fn the_same_results_twice_get_the_same_bytes_for_one_model_call() {
    let seen = tally(|deployment, sent, waits| {
        let results = waits.answered("ann");
        let (one, other) = (submit(deployment, sent, &results), submit(deployment, sent, &results));
        let (one, other) = both(deployment, &one, &other);
        // Whoever waits for the other does so for a while, and then asks again.
        let again = |deployment: &mut Deployment, came| match came {
            Observer::Refused(ErrorCode::TurnInProgress) => {
                deployment.wait(Duration::from_secs(60));
                let process = submit(deployment, sent, &results);
                told(deployment.finish(&process).expect("an answer"))
            }
            came => came,
        };
        let (one, other) = (again(deployment, one), again(deployment, other));
        assert!(matches!(one, Observer::Answer(_)), "{one:?}");
        assert_eq!(one, other);
        assert_eq!(deployment.provider.count(), 2);
    });
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [((), SEEDS)]);
}

#[test]
fn of_different_results_one_list_wins_and_the_other_is_refused() {
    let seen = tally(|deployment, sent, waits| {
        let lists = [waits.answered("ann"), waits.answered("ben")];
        let (one, other) = (submit(deployment, sent, &lists[0]), submit(deployment, sent, &lists[1]));
        let observer = both(deployment, &one, &other);
        assert_eq!(deployment.provider.count(), 2, "one of them calls the model");
        let accepted = deployment.table.contents().heads[&sent.turn()].accepted.clone().unwrap().results;
        let loser = Observer::Refused(ErrorCode::TurnNotAwaitingTools);
        match observer {
            (Observer::Answer(_), other) if other == loser => {
                assert_eq!(accepted, lists[0].fingerprint());
                "the first"
            }
            (one, Observer::Answer(_)) if one == loser => {
                assert_eq!(accepted, lists[1].fingerprint());
                "the second"
            }
            neither => panic!("{neither:?}"),
        }
    });
    assert_eq!(seen.len(), 2, "{seen:?}");
}

#[test]
fn a_continuation_and_a_new_turn() {
    let seen = tally(|deployment, sent, waits| {
        let next = Sent::new("ann", "s", "t2", "Never mind");
        let results = submit(deployment, sent, &waits.answered("ann"));
        let turn = deployment.execute(&next, BUDGET, Faults::None);
        match (both(deployment, &results, &turn), ended(deployment, sent)) {
            ((Observer::Refused(code), Observer::Answer(_)), Some(Reason::Superseded)) => {
                assert_eq!(code, ErrorCode::TurnSuperseded);
                "superseded"
            }
            ((Observer::Answer(_), Observer::Refused(code)), None) => {
                assert_eq!(code, ErrorCode::SessionBusy);
                "continued, while the new turn was told to wait"
            }
            ((Observer::Answer(_), Observer::Answer(_)), None) => "one after the other",
            other => panic!("{other:?}"),
        }
    });
    assert!(seen.len() >= 2 && seen.contains_key("superseded"), "{seen:?}");
}

#[test]
fn a_continuation_and_a_cancel() {
    let seen = tally(|deployment, sent, waits| {
        let results = submit(deployment, sent, &waits.answered("ann"));
        let cancel = deployment.cancel(&sent.caller, &sent.turn(), Faults::None);
        match (both(deployment, &results, &cancel), ended(deployment, sent)) {
            ((Observer::Refused(code), Observer::Done), Some(Reason::Cancelled)) => {
                assert_eq!(code, ErrorCode::TurnCancelled);
                "cancelled"
            }
            ((Observer::Answer(_), Observer::Done), None) => "continued",
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(seen.len(), 2, "{seen:?}");
}

#[test]
fn a_continuation_and_the_tool_deadline() {
    let seen = tally(|deployment, sent, waits| {
        // Results at the deadline are too late whoever looks first, so they come around it.
        let late = deployment.settings.timing.longest_tool_wait;
        let early = deployment.schedule.clock().draw(|chance| chance.u64(..4_000));
        deployment.wait(late.saturating_sub(Duration::from_millis(early)));
        let results = submit(deployment, sent, &waits.answered("ann"));
        let sweep = deployment.sweep(Faults::None);
        match (both(deployment, &results, &sweep), ended(deployment, sent)) {
            ((Observer::Refused(code), Observer::Done), Some(Reason::ToolDeadline)) => {
                assert_eq!(code, ErrorCode::ToolDeadlineExpired);
                "too late"
            }
            ((Observer::Answer(_), Observer::Done), None) => "continued",
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(seen.len(), 2, "{seen:?}");
}
