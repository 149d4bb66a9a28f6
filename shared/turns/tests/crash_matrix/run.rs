//! One cell of the matrix: the situation, the flow with its faults, the recovery, the verdict.

use std::{collections::BTreeMap, time::Duration};

use contracts::ToolContinuation;
use testkit::{
    client::Calls,
    deployment::{Deployment, Done, Sent, Settings},
    fault::Fault,
    invariants::{self, Violation},
    schedule::{Faults, Process},
};
use turns::refusal::Refusal;

use crate::flows::{BUDGET, Flow, right};

/// Which effect meets which fault, counted through the flow and then its recovery.
pub(crate) type Plan = BTreeMap<usize, Fault>;

/// What happens after the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recovery {
    /// The client sends the same request again.
    SameRequest,
    /// Somebody sends a new turn of the same session.
    NewTurn,
    /// Nobody comes back: there is only the sweep.
    SweepAlone,
}

impl Recovery {
    pub(crate) const ALL: [Self; 3] = [Self::SameRequest, Self::NewTurn, Self::SweepAlone];
}

/// What a cell came to.
pub(crate) struct Judged {
    /// Effects of the flow.
    pub(crate) effects: usize,
    /// Effects of the flow and of the first process of the recovery.
    pub(crate) reached: usize,
    pub(crate) violations: Vec<Violation>,
}

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) fn run(flow: &Flow, recovery: Recovery, plan: &Plan) -> Judged {
    let mut deployment = Deployment::new(Settings::quiet());
    (flow.before)(&mut deployment);
    let acted = (flow.act)(&mut deployment, Faults::At(plan.clone()));
    deployment.finish(&acted);
    let effects = acted.reached().len();
    // What is left of the plan hits the recovery.
    let rest = plan.iter().filter(|(at, _)| **at >= effects).map(|(at, fault)| (at - effects, *fault));
    let mut violations = Vec::new();
    let recovered = recover(&mut deployment, flow, recovery, Faults::At(rest.collect()), &mut violations);
    end(&mut deployment, recovery, &mut violations);
    violations.extend(deployment.violations());
    violations.dedup();
    Judged { effects, reached: effects + recovered.reached().len(), violations }
}

fn recover(
    deployment: &mut Deployment,
    flow: &Flow,
    recovery: Recovery,
    faults: Faults,
    violations: &mut Vec<Violation>,
) -> Process {
    match recovery {
        Recovery::SameRequest if flow.continues => {
            let (sent, results) = ((flow.request)(), right(deployment));
            converse(deployment, &sent, Some(results), faults)
        }
        Recovery::SameRequest => send(deployment, &(flow.request)(), faults),
        Recovery::NewTurn => {
            let probe = Sent::new("cleo", "s", "probe", "Are you there?");
            let process = send(deployment, &probe, faults);
            let timing = deployment.settings.timing;
            // I16; a second fault may hit this very turn's start, so one more lease is allowed.
            let latest = deployment.schedule.clock().monotonic() + 2 * (timing.lease + timing.take_late);
            violations.extend(invariants::started_within(
                &deployment.ledger.entries(),
                &probe.turn(),
                latest,
            ));
            process
        }
        Recovery::SweepAlone => {
            let process = deployment.sweep(faults);
            deployment.finish(&process);
            process
        }
    }
}

/// Sends a user turn, and whatever its calls need, until it is over or refused for good; the first try
/// meets the faults.
fn send(deployment: &mut Deployment, sent: &Sent, faults: Faults) -> Process {
    converse(deployment, sent, None, faults)
}

/// A client that goes on from these results, or from its user turn.
fn converse(
    deployment: &mut Deployment,
    sent: &Sent,
    mut results: Option<ToolContinuation>,
    faults: Faults,
) -> Process {
    let say = |deployment: &mut Deployment, results: &Option<ToolContinuation>, faults| {
        let process = match results {
            Some(results) => deployment.resume(&sent.caller, results, BUDGET, faults),
            None => deployment.execute(sent, BUDGET, faults),
        };
        let done = deployment.finish(&process);
        (process, done)
    };
    let (first, mut done) = say(deployment, &results, faults);
    for _ in 0..20 {
        let wait = match &done {
            Some(Done::Executed(Ok(body))) => match Calls::read(body) {
                Some(calls) => {
                    results = Some(calls.answered("client"));
                    Duration::ZERO
                }
                None => return first,
            },
            Some(Done::Executed(Err(refusal))) => match (refusal.retry_after(), results.take()) {
                (Some(wait), again) => {
                    results = again;
                    wait
                }
                // Somebody moved the turn on: what became of it?
                (None, Some(_)) => Duration::ZERO,
                (None, None) => {
                    assert!(matches!(refusal, Refusal::TurnIdConflict), "a refusal for good: {refusal:?}");
                    return first;
                }
            },
            Some(other) => panic!("not an answer: {other:?}"),
            None => Duration::from_secs(1),
        };
        deployment.wait(wait);
        (_, done) = say(deployment, &results, Faults::None);
    }
    panic!("a conversation without end: {done:?}");
}

/// The queue delivers what it has, the sweep runs, and then a day is over.
fn end(deployment: &mut Deployment, recovery: Recovery, violations: &mut Vec<Violation>) {
    for _ in 0..5 {
        sweep(deployment);
    }
    violations.extend(invariants::open_turns(&deployment.table.contents(), true));
    deployment.wait(DAY);
    sweep(deployment);
    violations.extend(invariants::open_turns(&deployment.table.contents(), false));
    // I9: whoever comes back now gets the same as everybody before.
    if recovery == Recovery::SameRequest {
        for turn in ["t1", "t2"].map(|turn| testkit::build::turn_key("s", turn)) {
            if let Some(sent) = deployment.request_detail(&turn) {
                send(deployment, &sent, Faults::None);
            }
        }
    }
}

fn sweep(deployment: &mut Deployment) {
    let process = deployment.sweep(Faults::None);
    deployment.finish(&process);
    deployment.wait(MINUTE);
}
