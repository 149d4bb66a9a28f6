//! Limits of concurrent turns, and entries that dead starts leave.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use aws_sdk_dynamodb::types::AttributeValue;
use contracts::paths;
use futures::future::join;
use local::Options;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    budgets::{budget, count, limit},
    client_tools::{results, submit},
    support::{Client, LEASE, PATIENCE, System, options, turn, turn_in, turn_path, workspace_turn},
};

pub(crate) type Item = HashMap<String, AttributeValue>;

pub(crate) fn is_meter(item: &Item) -> bool {
    item["PK"].as_s().unwrap().contains("#METER#")
}

pub(crate) fn open_entries(item: &Item) -> Vec<&String> {
    item.keys().filter(|name| name.starts_with("T#")).collect()
}

/// Gives each user of the org `acme` one turn at a time.
async fn limit_to_one(system: &System) {
    limit(system, budget(json!({"Window": "concurrent", "Unit": "turns", "Limit": 1}))).await;
}

/// Requires that a turn is refused because of the limit.
async fn refused(client: &Client, request: &Value) {
    let answer = client.execute(request).await;
    assert_eq!((answer.status, answer.error().as_str()), (429, "BudgetExceeded"), "{}", answer.text);
    let error = &answer.errors()[0];
    assert_eq!((&error["Details"], &error["Retry"]), (&json!("b"), &json!("same_request")));
    assert!((1..=30).contains(&error["RetryAfterSeconds"].as_u64().unwrap()), "{error}");
    assert!(answer.text.contains("of 1 concurrent turns for each user"), "{}", answer.text);
}

#[tokio::test]
async fn turn_beyond_the_concurrent_ones_starts_once_one_ends() {
    let system = System::start().await;
    limit_to_one(&system).await;
    let (ada, bob) = (system.client("acme", "ada"), system.client("acme", "bob"));
    let next = turn("Next");
    let first = turn("First [[script: delay 60s; say \"Done.\"]]");
    join(ada.execute(&first), async {
        system.model_called(1).await;
        refused(&ada, &next).await;
        bob.execute(&turn("Another user's")).await.result();
        ada.post(&format!("{}/cancel", turn_path(&first)), String::new()).await.result();
    })
    .await;
    ada.execute(&next).await.result();
    // The place is free with the answer, without the finalizer.
    ada.execute(&turn("And another")).await.result();
}

#[tokio::test]
async fn suspended_turn_leaves_its_place_and_results_are_never_refused() {
    let system = System::start().await;
    limit_to_one(&system).await;
    let ada = system.client("acme", "ada");
    let asks = workspace_turn(
        "Read [[script: call workspace_read_file {\"path\":\"a\"}; then; delay 8s; say \"Read.\"]]",
    );
    let suspended = ada.execute(&asks).await.result();
    ada.execute(&turn("Meanwhile")).await.result();
    let resumed = results(&suspended, "contents");
    join(async { submit(&ada, &resumed).await.result() }, async {
        system.model_called(3).await;
        refused(&ada, &turn("Too many")).await;
    })
    .await;
    let other = workspace_turn("Read [[script: call workspace_read_file {\"path\":\"a\"}]]");
    let other = ada.execute(&other).await.result();
    let long = turn("Long [[script: delay 8s; say \"Done.\"]]");
    join(async { ada.execute(&long).await.result() }, async {
        system.model_called(5).await;
        assert_eq!(submit(&ada, &results(&other, "contents")).await.status, 200);
    })
    .await;
    system
        .until_item(|item| is_meter(item) && open_entries(item).is_empty() && count(item, "Turns") == 0)
        .await;
}

#[tokio::test]
async fn dead_function_holds_its_place_until_its_lease_ends() {
    let system = System::with(Options { lease: Some(LEASE), ..options() }).await;
    limit_to_one(&system).await;
    let ada = system.client("acme", "ada");
    let json_body = [("content-type", "application/json")];
    let killed = turn("Die [[script: delay 30s; say \"Done.\"]]").to_string().into_bytes();
    let next = turn("Next");
    join(ada.attempt(Method::POST, paths::EXECUTE, &json_body, killed), async {
        system.model_called(1).await;
        system.crash_execute().await;
        refused(&ada, &next).await;
    })
    .await
    .0
    .ok();
    // No sweep and no client of the dead turn comes.
    let give_up = Instant::now() + PATIENCE;
    while ada.execute(&next).await.status == 429 {
        assert!(Instant::now() < give_up, "the dead turn keeps its place");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    ada.execute(&next).await.result();
}

#[tokio::test]
async fn reservation_of_a_dead_start_counts_until_a_refusal_finds_it() {
    let system = System::start().await;
    limit(&system, budget(json!({"Unit": "turns", "Limit": 2}))).await;
    let ada = system.client("acme", "ada");
    ada.execute(&turn("One")).await.result();
    let meter = system.until_item(|item| is_meter(item) && open_entries(item).is_empty()).await;
    let reserve = async |turn: &str, age: Duration| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let since = (now - age).as_millis();
        let update = system.cloud.dynamodb().update_item().table_name(system.cloud.table());
        update
            .key("PK", meter["PK"].clone())
            .key("SK", meter["SK"].clone())
            .update_expression("SET #t = :entry ADD Turns :one")
            .expression_attribute_names("#t", format!("T#s#{turn}"))
            .expression_attribute_values(":entry", AttributeValue::S(format!("0 0 {since} 7")))
            .expression_attribute_values(":one", AttributeValue::N("1".to_owned()))
            .send()
            .await
            .unwrap();
    };
    // It may still be starting.
    reserve("young", Duration::from_secs(60)).await;
    let next = turn("Two");
    assert_eq!(ada.execute(&next).await.error(), "BudgetExceeded");
    reserve("old", Duration::from_secs(21 * 60)).await;
    assert_eq!(ada.execute(&next).await.error(), "BudgetExceeded", "the young one is left");
    let stored = system.until_item(is_meter).await;
    assert_eq!((count(&stored, "Turns"), open_entries(&stored)), (2, vec![&"T#s#young".to_owned()]));
    system
        .cloud
        .dynamodb()
        .delete_item()
        .table_name(system.cloud.table())
        .key("PK", meter["PK"].clone())
        .key("SK", meter["SK"].clone())
        .send()
        .await
        .unwrap();
    ada.execute(&turn("One")).await.result();
    reserve("old", Duration::from_secs(21 * 60)).await;
    ada.execute(&next).await.result();
}

#[tokio::test]
async fn sequential_turns_stop_at_the_limit_while_the_finalizer_is_stopped() {
    let system = System::start().await;
    limit(&system, budget(json!({"Scope": "org"}))).await;
    system.cloud.pause_finalizer().await;
    // 36 of 100 tokens each, so that the third one passes the limit.
    let ada = system.client("acme", "ada");
    let sent = turn("Go [[script: usage 30 6; say \"Done.\"]]");
    ada.execute(&sent).await.result();
    for _ in 0..2 {
        ada.execute(&turn("Go [[script: usage 30 6; say \"Done.\"]]")).await.result();
    }
    for session in [sent["SessionId"].as_str().unwrap(), "another"] {
        let refused = ada.execute(&turn_in(session, "Next")).await;
        assert_eq!((refused.status, refused.error().as_str()), (429, "BudgetExceeded"), "{}", refused.text);
    }
    assert_eq!(system.model_calls().len(), 3);
    let meter = system.until_item(is_meter).await;
    assert_eq!((count(&meter, "Tokens"), open_entries(&meter).len()), (108, 3), "all of it is reserved");
    system.cloud.resume_finalizer().await;
    let meter = system.until_item(|item| is_meter(item) && open_entries(item).is_empty()).await;
    assert_eq!((count(&meter, "Tokens"), count(&meter, "Turns")), (108, 3), "all of it is used");
}

#[tokio::test]
async fn turn_that_awaits_results_holds_what_it_used() {
    let system = System::start().await;
    limit(&system, budget(json!({"Scope": "org"}))).await;
    let ada = system.client("acme", "ada");
    let asks = "Read [[script: usage 90 10; call workspace_read_file {\"path\":\"a\"}; then; say \"Read.\"]]";
    ada.execute(&workspace_turn(asks)).await.result();
    let refused = ada.execute(&turn("Next")).await;
    assert_eq!((refused.status, refused.error().as_str()), (429, "BudgetExceeded"), "{}", refused.text);
}
