//! Calls with effects: their cost in requests, and what a turn does after a crash, a lost reply and a cancel.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use std::time::Duration;

use contracts::{AgentExecuteResponse, InvokeResult};
use futures::FutureExt;
use testkit::{
    build,
    deployment::{ClientRequest, Deployment, ProcessOutcome, Settings},
    fault::{Effect, Fault},
    ledger::Event,
    schedule::{Faults, Process},
};
use turns::ports::Store;

/// The time budget of a function.
const BUDGET: Duration = Duration::from_secs(840);
/// Long enough that a lease has expired on every clock.
const DEAD: Duration = Duration::from_secs(33);
/// Long enough that an announced turn is finalized.
const FINALIZED: Duration = Duration::from_secs(5);

fn calling(turn: &str, calls: &str) -> ClientRequest {
    ClientRequest::new("ann", "s", turn, &format!("{turn} calls: {calls}"))
}

/// Runs a turn to its end, and returns its process and the warnings of its answer.
fn run(deployment: &mut Deployment, sent: &ClientRequest, faults: Faults) -> (Process, Vec<String>) {
    let process = deployment.execute(sent, BUDGET, faults);
    let Some(ProcessOutcome::Executed(Ok(body))) = deployment.finish(&process) else { panic!("no answer") };
    let result: InvokeResult<AgentExecuteResponse> = serde_json::from_slice(&body).unwrap();
    let Ok(AgentExecuteResponse::Final(answer)) = result.into_outcome() else { panic!("no final answer") };
    deployment.wait(FINALIZED);
    (process, answer.user_warnings)
}

/// Runs a turn whose process dies, and waits until it can be taken over.
fn die(deployment: &mut Deployment, sent: &ClientRequest, faults: Faults) {
    let process = deployment.execute(sent, BUDGET, faults);
    assert!(deployment.finish(&process).is_none(), "it crashes");
    deployment.wait(DEAD);
}

/// Returns the number of calls with effects that the target performed, and of those stored as unknown.
fn counts(deployment: &Deployment) -> (usize, usize) {
    let entries = deployment.ledger.entries();
    let is = |event: &Event| matches!(event, Event::Performed { call, .. } if call.class.has_intent());
    let performed = entries.iter().filter(|entry| is(&entry.event)).count();
    (performed, deployment.table.contents().unknown_effects.len())
}

/// Returns the requests to the stores that a turn with these calls makes more than one that calls a built-in tool.
fn extra_requests(calls: &str) -> Vec<(Effect, usize)> {
    let requests = |calls: &str| {
        let mut deployment = Deployment::new(Settings::quiet());
        let (process, _) = run(&mut deployment, &calling("t", calls), Faults::None);
        process.reached()
    };
    let (mut more, less) = (requests(calls), requests("s"));
    for effect in less {
        more.remove(more.iter().position(|other| *other == effect).unwrap());
    }
    more.sort_unstable();
    let groups = more.chunk_by(|one, other| one == other);
    groups.map(|group| (group[0], group.len())).collect()
}

#[test]
fn read_tool_costs_no_request() {
    assert_eq!(extra_requests("r"), [(Effect::CallTarget, 1)]);
    assert_eq!(extra_requests("rp"), [(Effect::CallTarget, 2)]);
}

#[test]
fn round_with_effects_costs_a_transaction_and_one_object_more_than_calls() {
    let cost = |calls: usize| {
        [(Effect::WriteIntent, 1), (Effect::PutPayload, 1 + calls), (Effect::CallTarget, calls)]
    };
    assert_eq!(extra_requests("e"), cost(1));
    assert_eq!(extra_requests("ek"), cost(2));
}

#[test]
fn effect_of_dead_attempt_is_unknown_and_not_repeated() {
    let mut deployment = Deployment::new(Settings::quiet());
    let sent = calling("t1", "E");
    die(&mut deployment, &sent, Faults::Nth(Effect::CallTarget, 0, Fault::CrashAfter));
    let (_, warnings) = run(&mut deployment, &sent, Faults::None);
    assert_eq!(counts(&deployment), (1, 1));
    assert!(warnings.iter().any(|warning| warning.contains("remote_effect is unknown")), "{warnings:?}");
    // An equal call is refused, and another isn't.
    run(&mut deployment, &calling("t2", "E"), Faults::None);
    assert_eq!(counts(&deployment), (1, 1));
    run(&mut deployment, &calling("t3", "Ee"), Faults::None);
    assert_eq!(counts(&deployment), (2, 1));
    assert_eq!(deployment.violations(), []);
    let marked = deployment.table.contents().unknown_effects.values().next().cloned().unwrap();
    deployment.table.remove_unknown_effect(&marked).now_or_never().unwrap().unwrap();
    run(&mut deployment, &calling("t4", "E"), Faults::None);
    assert_eq!(counts(&deployment), (3, 0), "a person allowed it");
}

#[test]
fn stored_result_survives_takeover_and_keyed_call_is_performed_once() {
    let mut deployment = Deployment::new(Settings::quiet());
    let sent = calling("t1", "ek");
    // Both calls are performed, and only the first result is stored.
    die(&mut deployment, &sent, Faults::Nth(Effect::CallTarget, 1, Fault::CrashAfter));
    let before = deployment.provider.count();
    let (_, warnings) = run(&mut deployment, &sent, Faults::None);
    assert_eq!(deployment.provider.count(), before + 1, "the model isn't asked again for the round");
    assert_eq!(counts(&deployment).0, 2);
    assert!(warnings.len() <= 1, "{warnings:?}");
    assert_eq!(deployment.violations(), []);
}

#[test]
fn lost_reply_is_unknown_and_refused_call_is_not() {
    for (fault, unknown) in [
        (Fault::ReplyLost, 1),
        (Fault::AppliedLate, 1),
        (Fault::NotApplied, 0),
        (Fault::Throttled(1), 0),
        (Fault::CrashBefore, 1),
    ] {
        let mut deployment = Deployment::new(Settings::quiet());
        let sent = calling("t1", "e");
        let process = deployment.execute(&sent, BUDGET, Faults::Nth(Effect::CallTarget, 0, fault));
        if deployment.finish(&process).is_none() {
            deployment.wait(DEAD);
            run(&mut deployment, &sent, Faults::None);
        }
        deployment.wait(Duration::from_secs(60));
        assert_eq!(counts(&deployment).1, unknown, "{fault:?}");
        assert_eq!(deployment.violations(), [], "{fault:?}");
    }
}

#[test]
fn call_over_a_slow_connection_is_sent_once() {
    let mut deployment = Deployment::new(Settings::quiet());
    deployment.target.connect_after(Duration::from_secs(2));
    let (_, warnings) = run(&mut deployment, &calling("t1", "er"), Faults::None);
    assert_eq!((counts(&deployment), warnings.len()), ((1, 0), 0), "{warnings:?}");
    assert_eq!(deployment.violations(), []);
}

#[test]
fn cancelled_turn_marks_the_call_whose_result_nobody_stored() {
    let mut deployment = Deployment::new(Settings::quiet());
    let sent = calling("t1", "e");
    let process = deployment.execute(&sent, BUDGET, Faults::Nth(Effect::CallTarget, 0, Fault::CrashAfter));
    assert!(deployment.finish(&process).is_none(), "it crashes");
    let cancel = deployment.cancel(&build::caller("ann"), &sent.turn(), Faults::None);
    assert!(matches!(deployment.finish(&cancel), Some(ProcessOutcome::Cancelled(Ok(())))));
    deployment.wait(Duration::from_secs(60));
    assert_eq!(counts(&deployment), (1, 1));
    assert_eq!(deployment.violations(), []);
}

#[test]
fn result_that_arrives_after_a_cancel_is_stored() {
    let mut deployment = Deployment::new(Settings::quiet());
    deployment.target.answer_after(Duration::from_secs(4));
    let sent = calling("t1", "e");
    let process = deployment.execute(&sent, BUDGET, Faults::None);
    deployment.wait(Duration::from_secs(1));
    let cancel = deployment.cancel(&build::caller("ann"), &sent.turn(), Faults::None);
    assert!(matches!(deployment.finish(&cancel), Some(ProcessOutcome::Cancelled(Ok(())))));
    assert!(matches!(deployment.finish(&process), Some(ProcessOutcome::Executed(Ok(_)))));
    let objects = deployment.objects.stored();
    let is_result =
        |kind: &protocol::payload::Kind| matches!(kind, protocol::payload::Kind::EffectResult(..));
    assert_eq!(objects.keys().filter(|payload| is_result(&payload.kind)).count(), 1);
    drop(objects);
    assert_eq!(counts(&deployment).0, 1);
    assert_eq!(deployment.violations(), []);
}
