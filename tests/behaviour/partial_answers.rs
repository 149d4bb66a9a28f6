//! Partial answers of ended turns: stored as far as they were streamed, and shown in reads.

use aws_sdk_dynamodb::types::AttributeValue;
use local::{Function, Options};
use serde_json::{Value, json};

use crate::support::{Client, Events, LEASE, System, options, turn, turn_in, turn_path, workspace_turn};

const SHOWN: &str = "Once upon a time there was a lease, and ";

/// A tool round whose text is taken back, then an answer that comes no further than a file which the guard holds back.
fn unfinished() -> Value {
    let held = "QUFB".repeat(300);
    turn(&format!(
        "Tell [[script: say \"Let me look.\"; call agent_list_modes {{}}; then; say \"{SHOWN}\"; \
         say \"data:image/png;base64,{held}\"; hang 100s]]"
    ))
}

/// Reads a stream until it shows this text, and waits until that is kept.
async fn shows(system: &System, ada: &Client, request: &Value) -> Events {
    let mut events =
        ada.execute_streaming(request, None).await.unwrap_or_else(|answer| panic!("{}", answer.text));
    let mut shown = String::new();
    while shown != SHOWN {
        let event = events.next().await.expect("more");
        match event.kind.as_str() {
            "delta" => {
                shown.push_str(serde_json::from_str::<Value>(&event.data).unwrap()["Text"].as_str().unwrap())
            }
            _ => shown.clear(),
        }
    }
    let id = request["TurnId"].as_str().unwrap();
    let (mut kept, mut after) = (String::new(), String::new());
    while kept != SHOWN {
        let next = system
            .until_item(|item| {
                let sk = item["SK"].as_s().unwrap();
                sk.starts_with(&format!("STREAM#{id}#")) && *sk > after
            })
            .await;
        after.clone_from(next["SK"].as_s().unwrap());
        kept.push_str(next["Text"].as_s().unwrap());
        kept = kept.trim_start_matches("Let me look.").to_owned();
    }
    events
}

async fn cancel(client: &Client, turn: &Value) {
    client.post(&format!("{}/cancel", turn_path(turn)), String::new()).await.result();
}

/// The turn, its light summary, its steps and the turns of its session, as they are read.
async fn reads(client: &Client, turn: &Value) -> Vec<(Option<String>, Value)> {
    let path = turn_path(turn);
    let mut read = Vec::new();
    for path in [path.clone(), format!("{path}/summary"), format!("{path}/steps")] {
        let answer = client.get(&path).await;
        read.push((answer.header("etag").map(str::to_owned), answer.result()));
    }
    read
}

fn tells(read: &[(Option<String>, Value)], reason: &str, rounds: &[&str]) {
    for (_, turn) in &read[..2] {
        assert_eq!((&turn["StatusReason"], &turn["PartialAnswerSummary"]), (&json!(reason), &json!(SHOWN)));
        assert!(turn.get("AgentAnswerSummary").is_none(), "{turn}");
        assert!(turn.get("PartialAnswerSummaryTruncated").is_none(), "{turn}");
    }
    let steps = read[2].1["Items"].as_array().unwrap();
    let told: Vec<_> =
        steps.iter().map(|step| (step["Kind"].as_str().unwrap(), step["Text"].clone())).collect();
    let expected = rounds.iter().map(|text| ("tools", json!(text))).chain([("partial_answer", json!(SHOWN))]);
    assert_eq!(told, expected.collect::<Vec<_>>(), "and nothing of what the guard held back");
}

async fn forget_the_stream(system: &System) {
    for item in system.items().await {
        if !item["SK"].as_s().unwrap().starts_with("STREAM#") {
            continue;
        }
        let delete = system.cloud.dynamodb().delete_item().table_name(system.cloud.table());
        let key = |name: &str| AttributeValue::S(item[name].as_s().unwrap().clone());
        delete.key("PK", key("PK")).key("SK", key("SK")).send().await.expect("removed");
    }
}

#[tokio::test]
async fn cancelled_turn_shows_streamed_text_before_and_after_finalize() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    for is_folded in [false, true] {
        system.cloud.pause_finalizer().await;
        let request = unfinished();
        let session = request["SessionId"].as_str().unwrap();
        let events = shows(&system, &ada, &request).await;
        cancel(&ada, &request).await;
        let settled = reads(&ada, &request).await;
        tells(&settled, "cancelled", &["Let me look."]);
        let told = events.rest().await;
        assert_eq!(told.last().unwrap().kind, "result");

        let turns = if is_folded { 2 } else { 1 };
        if is_folded {
            ada.execute(&turn_in(session, "Never mind")).await.result();
        }
        system.cloud.resume_finalizer().await;
        system.until_finalized(session, turns).await;
        forget_the_stream(&system).await;
        assert_eq!(reads(&ada, &request).await, settled, "folded: {is_folded}");
    }
}

#[tokio::test]
async fn abandoned_turn_shows_its_streamed_text() {
    let system = System::with(Options { lease: Some(2 * LEASE), ..options() }).await;
    let ada = system.client("acme", "ada");
    let request = unfinished();
    let session = request["SessionId"].as_str().unwrap();
    let events = shows(&system, &ada, &request).await;
    system.cloud.crash(Function::Execute);
    drop(events);
    // The next turn ends it, once its lease is over.
    ada.execute_when_free(&turn_in(session, "Never mind")).await.result();
    tells(&reads(&ada, &request).await, "abandoned", &["Let me look."]);
    system.until_finalized(session, 2).await;
    forget_the_stream(&system).await;
    tells(&reads(&ada, &request).await, "abandoned", &["Let me look."]);
}

#[tokio::test]
async fn superseded_turn_shows_the_text_sent_with_its_calls() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request =
        workspace_turn("Read [[script: say \"Let me look.\"; call workspace_read_file {\"path\":\"a\"}]]");
    let events = ada.execute_streaming(&request, None).await.unwrap_or_else(|no| panic!("{}", no.text));
    events.rest().await;
    ada.execute(&turn_in(request["SessionId"].as_str().unwrap(), "Never mind")).await.result();
    let read = reads(&ada, &request).await;
    assert_eq!(
        (&read[0].1["StatusReason"], &read[0].1["PartialAnswerSummary"]),
        (&json!("superseded"), &json!("Let me look."))
    );
    let steps = read[2].1["Items"].as_array().unwrap();
    assert_eq!((steps.len(), &steps[0]["Text"]), (1, &json!("Let me look.")), "told once");
}

#[tokio::test]
async fn failed_turn_shows_partial_answer_only_if_there_was_text() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let fails = turn("Look [[script: say \"Half an answer\"; cut after 6 events]]");
    ada.execute(&fails).await;
    let read = reads(&ada, &fails).await;
    assert!(read[0].1["PartialAnswerSummary"].as_str().unwrap().starts_with("Half an"), "{read:?}");
    let silent = turn("Think [[script: hang 100s]]");
    let (answer, ()) = futures::join!(ada.execute(&silent), async {
        system.model_called(2).await;
        cancel(&ada, &silent).await;
    });
    assert_eq!(answer.error(), "TurnCancelled");
    let read = reads(&ada, &silent).await;
    assert!(read[0].1.get("PartialAnswerSummary").is_none(), "{read:?}");
    assert_eq!(read[2].1["Items"], json!([]));
}
