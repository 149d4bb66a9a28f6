//! `turn-finalizer`: through SQS, and by the sweep when nobody told.

use std::time::{Duration, Instant};

use local::Function;
use reqwest::Method;
use serde_json::Value;

use crate::console::page;
use crate::support::{LEASE, PATIENCE, System, turn, turn_path};

#[tokio::test]
async fn without_finalizer_reads_show_outcome_and_sweep_catches_up() {
    let system = System::with(local::Options { lease: Some(LEASE), ..crate::support::options() }).await;
    system.cloud.pause_finalizer().await;
    let ada = system.client("acme", "ada");
    let request = turn("hello");
    let answer = ada.execute(&request).await.result();

    let head = format!("TURN#{}", request["TurnId"].as_str().unwrap());
    // That nothing happens takes its time to see, and only then is the turn due for a sweep: when it was due as it ran.
    tokio::time::sleep(LEASE * 9 / 4 + Duration::from_millis(200)).await;
    assert_eq!(system.attribute(&head, "Status").await.as_deref(), Some("pending"));
    assert_eq!(system.attribute("SESSION", "LastTurnStatus").await.as_deref(), Some("pending"));
    let listed = ada.get(contracts::paths::SESSIONS).await.result();
    assert_eq!(listed["Items"][0]["LastTurnStatus"], "completed");
    let read = ada.get(&turn_path(&request)).await.result();
    assert_eq!(read["Status"]["Id"], "completed");
    assert_eq!(read["AgentAnswerSummary"], answer["PrimaryOutputText"]);
    // What reads completed can be read whole (DD-005).
    let link = ada.get(read["FullAgentAnswerUrl"].as_str().unwrap()).await;
    assert_eq!(link.status, 302, "{}", link.text);
    let whole = reqwest::get(link.header("location").unwrap()).await.unwrap().text().await.unwrap();
    assert_eq!(whole, answer["PrimaryOutputText"].as_str().unwrap());

    // The announcement is lost; the sweep alone has to find the turn.
    let queue = &system.cloud.endpoints().finalize_queue;
    system.cloud.sqs().purge_queue().queue_url(queue).send().await.expect("a purge");
    system.cloud.resume_finalizer().await;
    system.cloud.sweep().await.expect("a sweep");
    system.until_attribute(&head, "Status", "completed").await;
    assert_eq!(system.attribute(&head, "GSI1PK").await, None, "a terminal turn is in no index of open ones");
}

#[tokio::test]
async fn foreign_queue_message_goes_to_the_dead_letter_queue_alone() {
    let system = System::with(local::Options {
        visibility: Some(Duration::from_secs(1)),
        ..crate::support::options()
    })
    .await;
    let endpoints = system.cloud.endpoints().clone();
    let send = |body: &'static str| {
        system.cloud.sqs().send_message().queue_url(&endpoints.finalize_queue).message_body(body).send()
    };
    send("not a message").await.expect("sent");
    send(r#"{"Kind":"turn_settled","Org":"acme","Session":"nobodys","Turn":"none"}"#).await.expect("sent");
    let mut dead = Vec::new();
    for _ in 0..40 {
        let received = system
            .cloud
            .sqs()
            .receive_message()
            .queue_url(&endpoints.dead_letter_queue)
            .wait_time_seconds(1)
            .send();
        dead.extend(received.await.expect("received").messages.unwrap_or_default());
        if !dead.is_empty() {
            break;
        }
    }
    assert_eq!(dead.len(), 1);
    assert_eq!(dead[0].body(), Some("not a message"));
}

#[tokio::test]
async fn killed_sweeps_become_no_dead_letters() {
    let visibility = Some(Duration::from_secs(1));
    let system = System::with(local::Options { visibility, ..crate::support::options() }).await;
    let done = Instant::now() + Duration::from_secs(12);
    let mut sweeps = 0;
    while Instant::now() < done {
        let sent = Instant::now();
        sweeps += 1;
        system.cloud.sweep().await.expect("a sweep");
        let is_delivered = || system.cloud.last_delivery(Function::TurnFinalizer).is_some_and(|at| at > sent);
        while !is_delivered() && sent.elapsed() < PATIENCE {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // In the middle of the sweep, which reads every shard of two indexes.
        tokio::time::sleep(Duration::from_millis(40)).await;
        system.cloud.crash(Function::TurnFinalizer);
    }
    let queues = async || page(&system, Method::GET, "/console/api/queues", String::new()).await.result();
    let depth =
        |queue: &Value| -> u64 { queue.as_object().unwrap().values().filter_map(Value::as_u64).sum() };
    let give_up = Instant::now() + PATIENCE;
    loop {
        let state = queues().await;
        // On a busy machine, a few are killed before they delete their message.
        assert!(depth(&state["DeadLetters"]) * 10 <= sweeps, "of {sweeps} sweeps: {state}");
        if depth(&state["Queue"]) == 0 {
            break;
        }
        assert!(Instant::now() < give_up, "a sweep is delivered again and again: {state}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
