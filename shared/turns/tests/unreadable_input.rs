//! An attempt that can't read its own input fails with a storage error instead of guessing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

use std::time::Duration;

use contracts::ErrorCode;
use testkit::{
    build,
    client::PendingCalls,
    deployment::{ClientRequest, Deployment, ProcessOutcome, Settings},
    fault::{Effect, Fault},
    schedule::Faults,
};
use turns::refusal::Refusal;

/// The time budget of a function.
const BUDGET: Duration = Duration::from_secs(840);
/// Long enough that a lease has expired on every clock.
const DEAD: Duration = Duration::from_secs(33);

fn turn_result(done: Option<ProcessOutcome>) -> Result<Vec<u8>, Refusal> {
    match done {
        Some(ProcessOutcome::Executed(turn_result)) => turn_result,
        other => panic!("no answer: {other:?}"),
    }
}

/// Suspends a turn whose provider stores nothing, so that resuming it has to read its instruction. One of the objects
/// that the resume reads fails.
fn resumed_without(nth: usize) -> (u64, Result<Vec<u8>, Refusal>) {
    let mut deployment = Deployment::new(Settings::quiet());
    let sent = ClientRequest::new("ann", "s", "t1", "Go calls: c").with_contexts(None, Some(build::LOCAL));
    let process = deployment.execute(&sent, BUDGET, Faults::None);
    let calls =
        PendingCalls::parse(&turn_result(deployment.finish(&process)).unwrap()).expect("a continuation");
    let results = calls.correct_request("ann");

    let unreadable = Faults::Nth(Effect::GetPayload, nth, Fault::NotApplied);
    let process = deployment.resume(&sent.caller, &results, BUDGET, unreadable);
    let resumed = turn_result(deployment.finish(&process));
    let model_calls = deployment.provider.count();

    deployment.wait(DEAD);
    let process = deployment.resume(&sent.caller, &results, BUDGET, Faults::None);
    let answer = turn_result(deployment.finish(&process)).unwrap();
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.contains("\"Kind\":\"final\""), "the same results go on: {answer}");
    assert_eq!(deployment.violations(), []);
    (model_calls, resumed)
}

#[test]
fn continuation_with_unreadable_instruction_fails_and_resumes() {
    let (model_calls, resumed) = resumed_without(1);
    let refusal = resumed.expect_err("it does not guess");
    assert_eq!(refusal.error().error_code, ErrorCode::StorageUnavailable);
    assert!(refusal.retry_after().is_some(), "it is temporary");
    assert_eq!(model_calls, 1, "the model is not asked without the question");
}
