//! Spending of a turn is counted, however it ends: exactly if an attempt could tell it, else by an estimate.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

use std::time::Duration;

use contracts::Usage;
use protocol::detail::Report;
use testkit::{
    build,
    deployment::{ClientRequest, Deployment, SessionEdit, Settings},
    fault::{Effect, Fault},
    model::Script,
    schedule::Faults,
};

/// The time budget of a function.
const BUDGET: Duration = Duration::from_secs(840);
/// Long enough that a lease has expired on every clock.
const DEAD: Duration = Duration::from_secs(33);

fn sent() -> ClientRequest {
    ClientRequest::new("ann", "s", "t1", "Explain leases at length.")
}

/// A deployment whose model takes its time.
fn slow() -> Deployment {
    let script = Script { max_latency: Duration::from_secs(100_000_000), ..Script::PROMPT };
    Deployment::new(Settings { script, ..Settings::quiet() })
}

/// Lets everything finish, and returns the report of the turn.
fn report(deployment: &mut Deployment) -> Report {
    for _ in 0..3 {
        deployment.wait(Duration::from_secs(200));
        let process = deployment.sweep(Faults::None);
        deployment.finish(&process);
    }
    assert_eq!(deployment.violations(), []);
    deployment.table.contents().results[&sent().turn()].report.clone()
}

/// Asserts that one call is counted, and that its usage is estimated.
fn assert_one_estimated_call(report: &Report) {
    let usage = report.usage.expect("usage");
    assert!(usage.prompt_tokens > 0, "{report:?}");
    assert_eq!((report.model_calls, report.estimated_tokens), (Some(1), usage.total_tokens));
}

#[test]
fn attempt_of_a_cancelled_turn_tells_what_it_spent() {
    let mut deployment = slow();
    deployment.execute(&sent(), BUDGET, Faults::None);
    deployment.wait(Duration::from_secs(1));
    let cancel = deployment.cancel(&sent().caller, &sent().turn(), Faults::None);
    deployment.finish(&cancel);
    deployment.wait(Duration::from_secs(3));
    let head = deployment.table.contents().heads[&sent().turn()].clone();
    assert!(head.spent.is_some_and(|spent| spent.is_final), "the attempt has noticed");
    assert_one_estimated_call(&report(&mut deployment));
}

#[test]
fn usage_that_the_provider_tells_later_replaces_the_estimate() {
    let mut deployment = slow();
    let told = Usage { prompt_tokens: 40, completion_tokens: 7, total_tokens: 47, ..Usage::default() };
    deployment.provider.tell_later(told);
    deployment.execute(&sent(), BUDGET, Faults::None);
    deployment.wait(Duration::from_secs(1));
    let cancel = deployment.cancel(&sent().caller, &sent().turn(), Faults::None);
    deployment.finish(&cancel);
    let report = report(&mut deployment);
    assert_eq!((report.usage, report.estimated_tokens, report.model_calls), (Some(told), 0, Some(1)));
    let contents = deployment.table.contents();
    assert_eq!(contents.sessions[&sent().turn().session].usage, told);
    let spent = contents.heads[&sent().turn()].spent.clone().unwrap();
    assert!(spent.is_final && spent.pending.is_none(), "{spent:?}");
}

#[test]
fn turn_ended_by_a_deleted_session_is_counted() {
    for edit in [SessionEdit::Delete, SessionEdit::Quarantine] {
        let mut deployment = slow();
        deployment.execute(&sent(), BUDGET, Faults::None);
        deployment.wait(Duration::from_secs(1));
        let mut caller = sent().caller;
        caller.operator = edit == SessionEdit::Quarantine;
        let edited = deployment.edit_session(&caller, &sent().turn().session, edit, Faults::None);
        deployment.finish(&edited);
        assert_one_estimated_call(&report(&mut deployment));
    }
}

#[test]
fn killed_attempt_of_a_cancelled_turn_is_sealed_by_the_finalizer() {
    let mut deployment = Deployment::new(Settings::quiet());
    let dying = Faults::EveryOfKind(Effect::CallModel, Fault::CrashBefore);
    let process = deployment.execute(&sent(), BUDGET, dying);
    deployment.finish(&process);
    let cancel = deployment.cancel(&sent().caller, &sent().turn(), Faults::None);
    deployment.finish(&cancel);
    assert_one_estimated_call(&report(&mut deployment));
}

#[test]
fn abandoned_turn_counts_the_call_of_its_dead_attempt() {
    let mut deployment = Deployment::new(Settings::quiet());
    let dying = Faults::EveryOfKind(Effect::CallModel, Fault::CrashAfter);
    let process = deployment.execute(&sent(), BUDGET, dying);
    deployment.finish(&process);
    assert_one_estimated_call(&report(&mut deployment));
}

#[test]
fn takeover_adds_the_call_of_the_dead_attempt() {
    let mut deployment = Deployment::new(Settings::quiet());
    let dying = Faults::EveryOfKind(Effect::CallModel, Fault::CrashAfter);
    let process = deployment.execute(&sent(), BUDGET, dying);
    deployment.finish(&process);
    deployment.wait(DEAD);
    let process = deployment.execute(&sent(), BUDGET, Faults::None);
    deployment.finish(&process);
    let report = report(&mut deployment);
    assert_eq!(report.model_calls, Some(2));
    assert!(report.estimated_tokens > 0, "{report:?}");
    // The second reply is told: two tokens of input and one of output.
    assert_eq!(report.usage.unwrap().total_tokens, report.estimated_tokens + 3);
}

#[test]
fn timeout_of_a_model_costs_its_input() {
    let mut deployment = Deployment::new(Settings::quiet());
    let late = Faults::EveryOfKind(Effect::CallModel, Fault::ReplyLost);
    let process = deployment.execute(&sent(), BUDGET, late);
    deployment.finish(&process);
    assert_one_estimated_call(&report(&mut deployment));
}

#[test]
fn refused_request_costs_nothing() {
    let mut deployment = Deployment::new(Settings::quiet());
    let refused = Faults::EveryOfKind(Effect::CallModel, Fault::NotApplied);
    let process = deployment.execute(&sent(), BUDGET, refused);
    deployment.finish(&process);
    let report = report(&mut deployment);
    assert_eq!((report.usage, report.estimated_tokens), (None, 0));
}

#[test]
fn outcome_that_cannot_be_stored_counts_what_it_cost() {
    let mut deployment = Deployment::new(Settings::quiet());
    let unstorable = Faults::EveryOfKind(Effect::PutPayload, Fault::NotApplied);
    let process = deployment.execute(&sent(), BUDGET, unstorable);
    deployment.finish(&process);
    let report = report(&mut deployment);
    assert!(report.errors.iter().any(|error| error.contains("could not be stored")), "{report:?}");
    assert_eq!(report.usage.unwrap().total_tokens, 2);
    assert_eq!((report.model_calls, report.estimated_tokens), (Some(1), 0));
}

#[test]
fn turn_that_awaits_tools_keeps_the_usage_of_its_calls() {
    let waits = ClientRequest { request: build::request("s", "t1", "calls: c"), ..sent() };
    let mut deployment = Deployment::new(Settings::quiet());
    let process = deployment.execute(&waits, BUDGET, Faults::None);
    deployment.finish(&process);
    let cancel = deployment.cancel(&sent().caller, &sent().turn(), Faults::None);
    deployment.finish(&cancel);
    let report = report(&mut deployment);
    assert_eq!((report.usage.unwrap().total_tokens, report.estimated_tokens), (2, 0));
}

#[test]
fn next_turn_folds_a_cancelled_one_with_its_usage() {
    let mut deployment = slow();
    deployment.execute(&sent(), BUDGET, Faults::None);
    deployment.wait(Duration::from_secs(1));
    let cancel = deployment.cancel(&sent().caller, &sent().turn(), Faults::None);
    deployment.finish(&cancel);
    let next = ClientRequest::new("ann", "s", "t2", "Next.");
    let process = deployment.execute(&next, BUDGET, Faults::None);
    deployment.finish(&process);
    let first = report(&mut deployment);
    assert_one_estimated_call(&first);
    let contents = deployment.table.contents();
    let second = contents.results[&next.turn()].report.usage.unwrap();
    let session = &contents.sessions[&sent().turn().session];
    assert_eq!(session.usage.total_tokens, first.usage.unwrap().total_tokens + second.total_tokens);
}
