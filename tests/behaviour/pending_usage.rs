//! Usage that a provider tells after its call was cut off: it is read once, and counts in place of the estimate.

use std::time::Duration;

use local::{Function, Options};
use serde_json::{Value, json};

use crate::{
    ended_usage::{assert_paid, counted, with_budget, writing},
    interrupted_usage::{cancel, charges, tokens},
    support::{LEASE, System, in_context, options, session_path, turn, turn_in, turn_path},
};

/// Words at a pace, of a response that the provider stores although its client leaves.
const OUTLIVES: &str = "Write [[script: outlives; pace 10ms; words 3000]]";

fn reads(system: &System) -> usize {
    system.cloud.model().unwrap().reads().len()
}

#[tokio::test]
async fn cancelled_turn_is_counted_as_its_provider_tells_later() {
    let system = with_budget(options()).await;
    let prices = json!({"PromptPerMillion": "1000", "CompletionPerMillion": "10000", "Currency": "EUR"});
    system.put_context(json!({ "Prices": prices })).await;
    let ada = system.client("acme", "ada");
    let request = in_context(OUTLIVES);
    let events = writing(&ada, &request).await;
    tokio::time::sleep(Duration::from_millis(900)).await;
    cancel(&ada, &request).await;
    assert_eq!(reads(&system), 0, "the answer doesn't wait for it");
    events.rest().await;
    let total = counted(&system, 1, 0).await;
    let paid = charges(&system, 1).await;
    assert_eq!((total.get("EstimatedTokens"), reads(&system)), (None, 1), "{total}");
    assert_paid(&total, &paid);
    let read = ada.get(&turn_path(&request)).await.result();
    assert_eq!((&read["Usage"], read.get("EstimatedTokens")), (&total["Usage"], None), "{read}");
    let micros = paid[0].input * 1_000 + paid[0].output * 10_000;
    let amount: f64 = total["Costs"][0]["Amount"].as_str().unwrap().parse().unwrap();
    assert!((amount * 1e6 - micros as f64).abs() <= 1.5, "{amount}, {micros} millionths");
    let session = ada.get(&session_path(&request)).await.result();
    assert_eq!((&session["TotalUsage"], &session["TotalCosts"]), (&total["Usage"], &total["Costs"]));
    // Only its usage is read, so nothing else of the response can be logged.
    let logged = system.log(Function::TurnFinalizer).iter().any(|line| line.to_string().contains("word1"));
    assert!(!logged);
}

#[tokio::test]
async fn killed_turn_is_counted_as_its_provider_tells_later() {
    let sweep = Some(Duration::from_secs(1));
    let system = with_budget(Options { lease: Some(LEASE), sweep, ..options() }).await;
    let ada = system.client("acme", "ada");
    let request = turn(OUTLIVES);
    let events = writing(&ada, &request).await;
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    system.cloud.crash(Function::Execute);
    drop(events);
    let total = counted(&system, 1, 0).await;
    assert_eq!(ada.get(&turn_path(&request)).await.result()["ErrorCode"], "TurnAbandoned");
    // The message and the sweep may finalize it at the same time, and each asks.
    assert!((1..=2).contains(&reads(&system)), "{}", reads(&system));
    assert_eq!(total.get("EstimatedTokens"), None, "{total}");
    assert_paid(&total, &charges(&system, 1).await);
}

#[tokio::test]
async fn estimate_stands_unless_the_provider_has_usage_of_an_ended_response() {
    let system = with_budget(options()).await;
    let ada = system.client("acme", "ada");
    // It goes on, is unknown, or was never stored.
    let scripts = ["outlives unfinished; pace 10ms; words 3000", "pace 10ms; words 3000"];
    let stateless = {
        system.put_context(json!({"Chain": "local"})).await;
        in_context(OUTLIVES)
    };
    let requests: Vec<Value> = scripts
        .iter()
        .map(|script| turn(&format!("Write [[script: {script}]]")))
        .chain([stateless])
        .collect();
    for request in &requests {
        let events = writing(&ada, request).await;
        cancel(&ada, request).await;
        events.rest().await;
    }
    let total = counted(&system, 3, 0).await;
    assert_eq!((&total["EstimatedTokens"], reads(&system)), (&total["Usage"]["TotalTokens"], 2), "{total}");
}

#[tokio::test]
async fn next_turn_waits_for_no_provider_and_ordinary_turns_ask_none() {
    let system = with_budget(options()).await;
    let ada = system.client("acme", "ada");
    let request = turn(OUTLIVES);
    let events = writing(&ada, &request).await;
    cancel(&ada, &request).await;
    let next = turn_in(request["SessionId"].as_str().unwrap(), "Next [[script: usage 5 2; say \"Done.\"]]");
    ada.execute(&next).await.result();
    events.rest().await;
    let total = counted(&system, 2, 0).await;
    assert_eq!(total["EstimatedTokens"], tokens(&total, "TotalTokens") - 7, "{total}");
    assert_eq!(reads(&system), 0);
}
