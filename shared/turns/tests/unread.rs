//! What an attempt has to tell the model and can't read: it fails as storage does, and never guesses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

use std::time::Duration;

use contracts::ErrorCode;
use testkit::{
    build,
    client::Calls,
    deployment::{Deployment, Done, Sent, Settings},
    fault::{Effect, Fault},
    schedule::Faults,
};
use turns::refusal::Refusal;

/// What a function has of its own time.
const BUDGET: Duration = Duration::from_secs(840);
/// Long enough that a lease is over for everybody.
const DEAD: Duration = Duration::from_secs(33);

fn said(done: Option<Done>) -> Result<Vec<u8>, Refusal> {
    match done {
        Some(Done::Executed(said)) => said,
        other => panic!("no answer: {other:?}"),
    }
}

/// A turn whose provider keeps nothing awaits results, so going on tells its question again; of the bucket's
/// objects that going on reads, one can't be read.
fn resumed_without(nth: usize) -> (u64, Result<Vec<u8>, Refusal>) {
    let mut deployment = Deployment::new(Settings::quiet());
    let sent = Sent::new("ann", "s", "t1", "Go calls: c").naming(None, Some(build::LOCAL));
    let process = deployment.execute(&sent, BUDGET, Faults::None);
    let calls = Calls::read(&said(deployment.finish(&process)).unwrap()).expect("a continuation");
    let results = calls.answered("ann");

    let unreadable = Faults::Nth(Effect::GetPayload, nth, Fault::NotApplied);
    let process = deployment.resume(&sent.caller, &results, BUDGET, unreadable);
    let resumed = said(deployment.finish(&process));
    let model_calls = deployment.provider.count();

    deployment.wait(DEAD);
    let process = deployment.resume(&sent.caller, &results, BUDGET, Faults::None);
    let answer = said(deployment.finish(&process)).unwrap();
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.contains("\"Kind\":\"final\""), "the same results go on: {answer}");
    assert_eq!(deployment.violations(), []);
    (model_calls, resumed)
}

#[test]
fn a_continuation_that_cannot_read_its_own_question_is_refused_and_goes_on_later() {
    let (model_calls, resumed) = resumed_without(1);
    let refusal = resumed.expect_err("it does not guess");
    assert_eq!(refusal.error().error_code, ErrorCode::StorageUnavailable);
    assert!(refusal.retry_after().is_some(), "it is temporary");
    assert_eq!(model_calls, 1, "the model is not asked without the question");
}
