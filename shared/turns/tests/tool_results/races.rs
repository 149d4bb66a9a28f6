//! Races between a continuation and other decisions about the turn: one wins, and the other hears why.
//!
//! Every race runs with many seeds, which vary the latency of every port call. Both outcomes of a race must occur.

use std::{collections::BTreeMap, time::Duration};

use contracts::{ErrorCode, ToolContinuation};
use protocol::{
    timing::Timing,
    turn::{EndReason, Verdict},
};
use testkit::{
    client::PendingCalls,
    deployment::{ClientRequest, Deployment, ProcessOutcome, Settings},
    schedule::{Faults, Latency, Process, RunEvent},
};
use turns::refusal::Refusal;

use super::{BUDGET, calls, error, execute};

const SEEDS: u64 = 300;

/// The result that a sender observes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Observed {
    Answer(Vec<u8>),
    Refused(ErrorCode),
    /// The sweep and a cancel return no answer.
    Done,
}

/// A turn that waits for results, in a deployment with random latencies.
fn waiting(seed: u64) -> (Deployment, ClientRequest, PendingCalls) {
    let timing = Timing { max_tool_wait: Duration::from_secs(30), ..Timing::default() };
    let settings = Settings { seed, latency: Latency::Random, timing, ..Settings::quiet() };
    let mut deployment = Deployment::new(settings);
    let sent = ClientRequest::new("ann", "s", "t1", "Go calls: sc");
    let pending = calls(execute(&mut deployment, &sent));
    (deployment, sent, pending)
}

fn submit(deployment: &mut Deployment, sent: &ClientRequest, results: &ToolContinuation) -> Process {
    deployment.resume(&sent.caller, results, BUDGET, Faults::None)
}

/// Runs until both processes finish.
fn both(deployment: &mut Deployment, one: &Process, other: &Process) -> (Observed, Observed) {
    let mut observations = BTreeMap::new();
    while observations.len() < 2 {
        let event = deployment.step(Duration::MAX, &Faults::None).expect("both come to an end");
        if let RunEvent::Finished(process, done) = event
            && (process == one.id() || process == other.id())
        {
            observations.insert(process, observe(done));
        }
    }
    (observations.remove(&one.id()).unwrap(), observations.remove(&other.id()).unwrap())
}

fn observe(done: ProcessOutcome) -> Observed {
    match done {
        ProcessOutcome::Executed(Ok(body)) => match error(&body) {
            None => Observed::Answer(body),
            Some(code) => Observed::Refused(code),
        },
        ProcessOutcome::Executed(Err(refusal)) | ProcessOutcome::Cancelled(Err(refusal)) => {
            Observed::Refused(code(&refusal))
        }
        ProcessOutcome::Cancelled(Ok(())) | ProcessOutcome::Swept(Ok(_)) => Observed::Done,
        other => panic!("it fails: {other:?}"),
    }
}

fn code(refusal: &Refusal) -> ErrorCode {
    refusal.error().error_code
}

/// The reason that ended the turn from outside, if any.
fn ended(deployment: &Deployment, sent: &ClientRequest) -> Option<EndReason> {
    let contents = deployment.table.contents();
    match contents.heads[&sent.turn()].settlement().expect("it is settled").verdict {
        Verdict::Ended(reason) => Some(reason),
        Verdict::Completed { .. } | Verdict::Failed { .. } => None,
    }
}

/// Counts the outcomes over all seeds and checks the invariants for each.
fn tally<K: Ord>(race: impl Fn(&mut Deployment, &ClientRequest, &PendingCalls) -> K) -> BTreeMap<K, u64> {
    let mut outcomes = BTreeMap::new();
    for seed in 0..SEEDS {
        let (mut deployment, sent, pending) = waiting(seed);
        *outcomes.entry(race(&mut deployment, &sent, &pending)).or_default() += 1;
        assert_eq!(deployment.violations(), [], "seed {seed}");
    }
    outcomes
}

#[test]
fn same_results_twice_get_same_bytes_for_one_model_call() {
    let outcomes = tally(|deployment, sent, pending| {
        let results = pending.correct_request("ann");
        let (one, other) = (submit(deployment, sent, &results), submit(deployment, sent, &results));
        let (one, other) = both(deployment, &one, &other);
        // A client that waits for the other one gives up after a while and retries.
        let again = |deployment: &mut Deployment, observed| match observed {
            Observed::Refused(ErrorCode::TurnInProgress) => {
                deployment.wait(Duration::from_secs(60));
                let process = submit(deployment, sent, &results);
                observe(deployment.finish(&process).expect("an answer"))
            }
            observed => observed,
        };
        let (one, other) = (again(deployment, one), again(deployment, other));
        assert!(matches!(one, Observed::Answer(_)), "{one:?}");
        assert_eq!(one, other);
        assert_eq!(deployment.provider.count(), 2);
    });
    assert_eq!(outcomes.into_iter().collect::<Vec<_>>(), [((), SEEDS)]);
}

#[test]
fn one_of_two_different_result_lists_wins() {
    let outcomes = tally(|deployment, sent, pending| {
        let lists = [pending.correct_request("ann"), pending.correct_request("ben")];
        let (one, other) = (submit(deployment, sent, &lists[0]), submit(deployment, sent, &lists[1]));
        let observations = both(deployment, &one, &other);
        assert_eq!(deployment.provider.count(), 2, "one of them calls the model");
        let accepted =
            deployment.table.contents().heads[&sent.turn()].accepted_results.clone().unwrap().results;
        let loser = Observed::Refused(ErrorCode::TurnNotAwaitingTools);
        match observations {
            (Observed::Answer(_), other) if other == loser => {
                assert_eq!(accepted, lists[0].fingerprint());
                "the first"
            }
            (one, Observed::Answer(_)) if one == loser => {
                assert_eq!(accepted, lists[1].fingerprint());
                "the second"
            }
            neither => panic!("{neither:?}"),
        }
    });
    assert_eq!(outcomes.len(), 2, "{outcomes:?}");
}

#[test]
fn continuation_races_new_turn() {
    let outcomes = tally(|deployment, sent, pending| {
        let next = ClientRequest::new("ann", "s", "t2", "Never mind");
        let results = submit(deployment, sent, &pending.correct_request("ann"));
        let turn = deployment.execute(&next, BUDGET, Faults::None);
        match (both(deployment, &results, &turn), ended(deployment, sent)) {
            ((Observed::Refused(code), Observed::Answer(_)), Some(EndReason::Superseded)) => {
                assert_eq!(code, ErrorCode::TurnSuperseded);
                "superseded"
            }
            ((Observed::Answer(_), Observed::Refused(code)), None) => {
                assert_eq!(code, ErrorCode::SessionBusy);
                "continued, while the new turn was told to wait"
            }
            ((Observed::Answer(_), Observed::Answer(_)), None) => "one after the other",
            other => panic!("{other:?}"),
        }
    });
    assert!(outcomes.len() >= 2 && outcomes.contains_key("superseded"), "{outcomes:?}");
}

#[test]
fn continuation_races_cancel() {
    let outcomes = tally(|deployment, sent, pending| {
        let results = submit(deployment, sent, &pending.correct_request("ann"));
        let cancel = deployment.cancel(&sent.caller, &sent.turn(), Faults::None);
        match (both(deployment, &results, &cancel), ended(deployment, sent)) {
            ((Observed::Refused(code), Observed::Done), Some(EndReason::Cancelled)) => {
                assert_eq!(code, ErrorCode::TurnCancelled);
                "cancelled"
            }
            ((Observed::Answer(_), Observed::Done), None) => "continued",
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(outcomes.len(), 2, "{outcomes:?}");
}

#[test]
fn continuation_races_tool_deadline() {
    let outcomes = tally(|deployment, sent, pending| {
        // Results at the deadline are always late, so send them around it.
        let late = deployment.settings.timing.max_tool_wait;
        let early = deployment.schedule.clock().draw(|chance| chance.u64(..4_000));
        deployment.wait(late.saturating_sub(Duration::from_millis(early)));
        let results = submit(deployment, sent, &pending.correct_request("ann"));
        let sweep = deployment.sweep(Faults::None);
        match (both(deployment, &results, &sweep), ended(deployment, sent)) {
            ((Observed::Refused(code), Observed::Done), Some(EndReason::ToolDeadline)) => {
                assert_eq!(code, ErrorCode::ToolDeadlineExpired);
                "too late"
            }
            ((Observed::Answer(_), Observed::Done), None) => "continued",
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(outcomes.len(), 2, "{outcomes:?}");
}
