//! `POST …/turns/{TurnId}/cancel`.

use std::time::Duration;

use crate::support::{System, turn, turn_in, turn_path};

#[tokio::test]
async fn a_running_turn_is_cancelled_its_caller_told_and_the_session_free_at_once() {
    let system =
        System::with(local::Options { lease: Some(crate::support::LEASE), ..crate::support::options() })
            .await;
    let ada = system.client("acme", "ada");
    let slow = turn("Take your time [[script: delay 20s]]");
    let path = format!("{}/cancel", turn_path(&slow));
    let running = ada.execute(&slow);
    let cancelled = async {
        system.model_called(1).await;
        let called = std::time::Instant::now();
        let summary = ada.post(&path, String::new()).await.result();
        let next = ada.execute(&turn_in(slow["SessionId"].as_str().unwrap(), "next")).await;
        (summary, next, called)
    };
    let (running, (summary, next, called)) = futures::join!(running, cancelled);
    assert_eq!(summary["Status"]["Id"], "failed");
    assert_eq!((running.status, running.error().as_str()), (409, "TurnCancelled"));
    assert!(
        called.elapsed() < Duration::from_secs(15),
        "the attempt stopped long before the model would have"
    );
    assert_eq!(next.result()["Kind"], "final");
    assert_eq!(ada.execute(&slow).await.text, running.text, "it replays as cancelled");
    assert_eq!(ada.post(&path, String::new()).await.json()["Warnings"], serde_json::json!([]));
}

#[tokio::test]
async fn a_settled_turn_keeps_its_outcome_and_an_unknown_one_is_not_found() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("done");
    let answer = ada.execute(&request).await;
    let path = format!("{}/cancel", turn_path(&request));
    let late = ada.post(&path, String::new()).await;
    assert_eq!(late.result()["Status"]["Id"], "completed");
    let warnings = late.json()["Warnings"].clone();
    assert_eq!(warnings.as_array().map(Vec::len), Some(1), "the call's own warning: {warnings}");
    assert!(warnings[0]["Message"].as_str().unwrap().contains("its outcome stands"), "{warnings}");
    assert_eq!(ada.execute(&request).await.text, answer.text);
    let unknown = ada.post(&format!("{}/cancel", turn_path(&turn("never sent"))), String::new()).await;
    assert_eq!((unknown.status, unknown.error().as_str()), (404, "TurnNotFound"));
    assert_eq!(system.client("rival", "eve").post(&path, String::new()).await.status, 404);
}
