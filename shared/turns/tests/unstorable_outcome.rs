//! A turn whose outcome can't be stored ends by name while its function still runs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::time::Duration;

use protocol::turn::{EndReason, State, Verdict};
use testkit::{
    deployment::{ClientRequest, Deployment, ProcessOutcome, Settings},
    fault::{Effect, Fault},
    schedule::{Faults, Latency},
};

/// The time budget of a function: what settling reserves, and little more.
const BUDGET: Duration = Duration::from_secs(25);

#[test]
fn slow_failing_payload_store_leaves_time_to_end_the_turn() {
    let ended = (1..=300).filter(|seed| ends_by_name(*seed)).count();
    // The rest are seeds whose table takes seconds as well.
    assert!(ended > 290, "{ended} of 300");
}

/// Runs a turn whose outcome can't be stored while calls take up to 12 seconds. Returns true if its answer says so.
fn ends_by_name(seed: u64) -> bool {
    let settings = Settings { seed, latency: Latency::Random, ..Settings::quiet() };
    let mut deployment = Deployment::new(settings);
    let sent = ClientRequest::new("ann", "s", "t1", "one");
    let unstorable = Faults::EveryOfKind(Effect::PutPayload, Fault::NotApplied);
    let process = deployment.execute(&sent, BUDGET, unstorable);
    let answer = match deployment.finish(&process) {
        Some(ProcessOutcome::Executed(Ok(answer))) => String::from_utf8(answer).unwrap(),
        Some(ProcessOutcome::Executed(Err(_))) | None => return false,
        other => panic!("seed {seed}: {other:?}"),
    };
    assert!(answer.contains("TurnNotStored"), "seed {seed}: {answer}");
    let turn = deployment.table.contents().heads.get(&sent.turn()).cloned().unwrap();
    let (State::Settled(settled) | State::Finalized(settled)) = &turn.state else {
        panic!("seed {seed}: {:?}", turn.state)
    };
    assert_eq!(settled.verdict, Verdict::Ended(EndReason::StorageUnavailable), "seed {seed}");
    process.clock().monotonic() < BUDGET
}
