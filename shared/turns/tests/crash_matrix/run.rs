//! One cell of the matrix: the situation, the flow with its faults, the recovery, the verdict.

use std::{collections::BTreeMap, time::Duration};

use testkit::{
    deployment::{Deployment, Done, Sent, Settings},
    faulty::Fault,
    invariants::{self, Violation},
    schedule::{Faults, Process},
};
use turns::flow::Refusal;

use crate::flows::{BUDGET, Flow};

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
pub(crate) struct Ran {
    /// Effects of the flow.
    pub(crate) effects: usize,
    /// Effects of the flow and of the first process of the recovery.
    pub(crate) reached: usize,
    pub(crate) violations: Vec<Violation>,
}

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) fn run(flow: &Flow, recovery: Recovery, plan: &Plan) -> Ran {
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
    Ran { effects, reached: effects + recovered.reached().len(), violations }
}

fn recover(
    deployment: &mut Deployment,
    flow: &Flow,
    recovery: Recovery,
    faults: Faults,
    violations: &mut Vec<Violation>,
) -> Process {
    match recovery {
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

/// Sends a request until it is answered or refused for good; the first try meets the faults.
fn send(deployment: &mut Deployment, sent: &Sent, faults: Faults) -> Process {
    let first = deployment.execute(sent, BUDGET, faults);
    let mut done = deployment.finish(&first);
    for _ in 0..20 {
        let wait = match &done {
            Some(Done::Executed(Err(refusal))) => match refusal.retry_after() {
                Some(wait) => wait,
                None => break,
            },
            Some(_) => break,
            None => Duration::from_secs(1),
        };
        deployment.wait(wait);
        let again = deployment.execute(sent, BUDGET, Faults::None);
        done = deployment.finish(&again);
    }
    if let Some(Done::Executed(Err(refusal))) = &done {
        assert!(matches!(refusal, Refusal::TurnIdConflict), "a request without end: {refusal:?}");
    }
    first
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
        let turns: Vec<_> = ["t1", "t2"].map(|turn| testkit::build::turn_key("s", turn)).to_vec();
        for turn in turns {
            let instruction = if turn.turn.as_str() == "t1" { "one" } else { "two" };
            let there = deployment.table.contents().heads.contains_key(&turn);
            if there {
                send(deployment, &Sent::new("ann", "s", turn.turn.as_str(), instruction), Faults::None);
            }
        }
    }
}

fn sweep(deployment: &mut Deployment) {
    let process = deployment.sweep(Faults::None);
    deployment.finish(&process);
    deployment.wait(MINUTE);
}
