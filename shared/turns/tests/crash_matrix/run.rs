//! One cell of the matrix: preparation, flow with faults, recovery, verdict.

use std::{collections::BTreeMap, time::Duration};

use contracts::ToolContinuation;
use testkit::{
    client::PendingCalls,
    deployment::{ClientRequest, Deployment, ProcessOutcome, Settings},
    fault::Fault,
    invariants::{self, Violation},
    schedule::{Faults, Process},
};
use turns::{ports::ArchivedSession, refusal::Refusal};

use crate::flows::{BUDGET, Flow, Retry, copy, correct_results};

/// The faults by the index of their effect, counted through the flow and its recovery.
pub(crate) type Plan = BTreeMap<usize, Fault>;

/// The recovery after the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recovery {
    /// The client retries the same request.
    SameRequest,
    /// Another user starts a new turn in the same session.
    NewTurn,
    /// No client returns, and only the sweep runs.
    SweepAlone,
}

impl Recovery {
    pub(crate) const ALL: [Self; 3] = [Self::SameRequest, Self::NewTurn, Self::SweepAlone];
}

/// The result of a cell.
pub(crate) struct CellResult {
    /// The number of effects of the flow.
    pub(crate) effects: usize,
    /// The number of effects of the flow and of the first process of the recovery.
    pub(crate) reached: usize,
    pub(crate) violations: Vec<Violation>,
}

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) fn run(flow: &Flow, recovery: Recovery, plan: &Plan) -> CellResult {
    let mut deployment = Deployment::new(Settings::quiet());
    (flow.before)(&mut deployment);
    let copy = (flow.retry == Retry::Import).then(|| copy(&deployment));
    let flow_process = (flow.act)(&mut deployment, Faults::AtIndex(plan.clone()));
    deployment.finish(&flow_process);
    let effects = flow_process.reached().len();
    // The rest of the plan hits the recovery.
    let rest = plan.iter().filter(|(at, _)| **at >= effects).map(|(at, fault)| (at - effects, *fault));
    let mut violations = Vec::new();
    let recovered = recover(
        &mut deployment,
        flow,
        recovery,
        copy.as_ref(),
        Faults::AtIndex(rest.collect()),
        &mut violations,
    );
    end(&mut deployment, recovery, &mut violations);
    violations.extend(deployment.violations());
    violations.dedup();
    CellResult { effects, reached: effects + recovered.reached().len(), violations }
}

fn recover(
    deployment: &mut Deployment,
    flow: &Flow,
    recovery: Recovery,
    copy: Option<&ArchivedSession>,
    faults: Faults,
    violations: &mut Vec<Violation>,
) -> Process {
    match (recovery, copy) {
        (Recovery::SameRequest, Some(copy)) => import(deployment, copy, faults),
        (Recovery::SameRequest, None) if flow.retry == Retry::ToolResults => {
            let (sent, results) = ((flow.request)(), correct_results(deployment));
            converse(deployment, &sent, Some(results), faults)
        }
        (Recovery::SameRequest, None) => send(deployment, &(flow.request)(), faults),
        (Recovery::NewTurn, _) => {
            let probe = ClientRequest::new("cleo", "s", "probe", "Are you there?");
            let process = send(deployment, &probe, faults);
            let timing = deployment.settings.timing;
            // I16. A second fault may hit the start of this turn, so allow one more lease.
            let latest =
                deployment.schedule.clock().monotonic() + 2 * (timing.lease + timing.takeover_margin);
            violations.extend(invariants::started_within(
                &deployment.ledger.entries(),
                &probe.turn(),
                latest,
            ));
            process
        }
        (Recovery::SweepAlone, _) => {
            let process = deployment.sweep(faults);
            deployment.finish(&process);
            process
        }
    }
}

/// Sends an import until the session is imported. The first try hits the faults.
fn import(deployment: &mut Deployment, copy: &ArchivedSession, faults: Faults) -> Process {
    let caller = testkit::build::caller("ann");
    let first = deployment.import(&caller, copy, faults);
    let mut done = deployment.finish(&first);
    for _ in 0..20 {
        match &done {
            Some(ProcessOutcome::Imported(Ok(()))) => return first,
            Some(ProcessOutcome::Imported(Err(refusal))) => {
                assert!(refusal.retry_after().is_some(), "a refusal for good: {refusal:?}");
            }
            Some(other) => panic!("not an answer: {other:?}"),
            None => {}
        }
        deployment.wait(Duration::from_secs(1));
        let again = deployment.import(&caller, copy, Faults::None);
        done = deployment.finish(&again);
    }
    panic!("an import without end: {done:?}");
}

/// Sends a user turn, and results for its calls, until it ends or is rejected for good. The first try hits the
/// faults.
fn send(deployment: &mut Deployment, sent: &ClientRequest, faults: Faults) -> Process {
    converse(deployment, sent, None, faults)
}

/// Runs a client from these results on, or from its user turn.
fn converse(
    deployment: &mut Deployment,
    sent: &ClientRequest,
    mut results: Option<ToolContinuation>,
    faults: Faults,
) -> Process {
    let attempt = |deployment: &mut Deployment, results: &Option<ToolContinuation>, faults| {
        let process = match results {
            Some(results) => deployment.resume(&sent.caller, results, BUDGET, faults),
            None => deployment.execute(sent, BUDGET, faults),
        };
        let done = deployment.finish(&process);
        (process, done)
    };
    let (first, mut done) = attempt(deployment, &results, faults);
    for _ in 0..20 {
        let wait = match &done {
            Some(ProcessOutcome::Executed(Ok(body))) => match PendingCalls::parse(body) {
                Some(calls) => {
                    results = Some(calls.correct_request("client"));
                    Duration::ZERO
                }
                None => return first,
            },
            Some(ProcessOutcome::Executed(Err(refusal))) => match (refusal.retry_after(), results.take()) {
                (Some(wait), again) => {
                    results = again;
                    wait
                }
                // Someone else moved the turn on. Ask for its outcome.
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
        (_, done) = attempt(deployment, &results, Faults::None);
    }
    panic!("a conversation without end: {done:?}");
}

/// Lets the queue deliver its messages, runs the sweep, and then lets a day pass.
fn end(deployment: &mut Deployment, recovery: Recovery, violations: &mut Vec<Violation>) {
    for _ in 0..5 {
        sweep(deployment);
    }
    violations.extend(invariants::open_turns(&deployment.table.contents(), true));
    deployment.wait(DAY);
    sweep(deployment);
    violations.extend(invariants::open_turns(&deployment.table.contents(), false));
    // I9: whoever retries now gets the same response as before.
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
