//! Functions that die in the middle of a turn.

use std::time::Duration;

use local::{Function, Options};

use crate::support::{LEASE, System, options, turn, turn_in, turn_path};

async fn crashed_while_the_model_works(system: &System, request: &serde_json::Value) {
    let ada = system.client("acme", "ada");
    let running = ada.execute(request);
    let crash = async {
        system.model_called(1).await;
        system.cloud.crash(Function::Execute);
    };
    let (answer, ()) = futures::join!(running, crash);
    assert_eq!((answer.status, answer.error().as_str()), (502, "FunctionFailed"));
}

#[tokio::test]
async fn retry_takes_over_a_crashed_turn_after_its_lease() {
    let system = System::with(Options { lease: Some(LEASE), ..options() }).await;
    let ada = system.client("acme", "ada");
    let request = turn("Slow at first [[script: delay 700ms]]");
    crashed_while_the_model_works(&system, &request).await;
    let answer = ada.execute(&request).await.result();
    assert_eq!(answer["Kind"], "final");
    let session = ada.get(&crate::support::session_path(&request)).await.result();
    assert_eq!(
        (session["TurnCount"].as_u64(), session["Turns"][0]["Status"]["Id"].as_str()),
        (Some(1), Some("completed"))
    );
    assert_eq!(system.model_calls().len(), 2, "the first answer was never durable");
}

#[tokio::test]
async fn next_user_turn_abandons_a_crashed_one_and_continues() {
    let system = System::with(Options { lease: Some(LEASE), ..options() }).await;
    let ada = system.client("acme", "ada");
    let request = turn("Die [[script: delay 1s]]");
    crashed_while_the_model_works(&system, &request).await;
    let next = turn_in(request["SessionId"].as_str().unwrap(), "Still there?");
    // The lease has to run out.
    assert_eq!(ada.execute_when_free(&next).await.result()["Kind"], "final");
    let dead = ada.get(&turn_path(&request)).await.result();
    assert_eq!(dead["Status"]["Id"], "failed");
    let replay = ada.execute(&request).await;
    assert_eq!((replay.status, replay.error().as_str()), (503, "TurnAbandoned"));
}

#[tokio::test]
async fn sweep_ends_a_crashed_turn_that_is_never_retried() {
    let system =
        System::with(Options { lease: Some(LEASE), sweep: Some(Duration::from_secs(1)), ..options() }).await;
    let ada = system.client("acme", "ada");
    let request = turn("Die [[script: delay 1s]]");
    crashed_while_the_model_works(&system, &request).await;
    let ended = |answer: &crate::support::Answer| answer.json()["Result"]["Status"]["Id"] == "failed";
    let read = ada.until(&turn_path(&request), Duration::from_secs(20), ended).await.result();
    assert_eq!(read["Status"]["Id"], "failed");
}
