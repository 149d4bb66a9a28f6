//! Turns that are cancelled while a call with effects is on its way.

use std::{sync::Arc, time::Duration};

use axum::{Router, extract::State, http::StatusCode, routing::post};
use contracts::paths::{AGENTS, CONNECTIONS, EFFECTS};
use local::Options;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::agents::put;
use crate::effects::{only_unknown, open};
use crate::export::operator;
use crate::shop::{Moment, asks, call};
use crate::support::{Answer, Client, LEASE, PATIENCE, System, options, serve, turn_path};

async fn cancel(client: &Client, turn: &Value) {
    client.post(&format!("{}/cancel", turn_path(turn)), String::new()).await.result();
}

#[tokio::test]
async fn cancelled_turn_cancels_its_call_of_an_mcp_server() {
    for (is_stateless, wanted) in [(true, "end of the connection"), (false, "notifications/cancelled")] {
        let (system, shop, mut kills) = open("mcp", is_stateless).await;
        let (olga, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
        shop.kill_at("1", Moment::Lost);
        let first = asks(&call("refund", "1"));
        let during = async {
            let held = kills.recv().await.unwrap();
            cancel(&ada, &first).await;
            let until = tokio::time::Instant::now() + PATIENCE;
            while !shop.cancelled().iter().any(|end| end == wanted) {
                assert!(tokio::time::Instant::now() < until, "{wanted}: {:?}", shop.cancelled());
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            held.send(()).ok();
        };
        let (answer, ()) = futures::join!(ada.execute(&first), during);
        assert_eq!(answer.error(), "TurnCancelled");
        assert_eq!(only_unknown(&olga).await["TurnId"], first["TurnId"]);
        let read = ada.get(&turn_path(&first)).await.result();
        assert!(read["Warnings"].to_string().contains("shop__refund is unknown"), "{read}");
    }
}

/// A bank that refuses a payment as soon as it may.
#[derive(Clone)]
struct Bank {
    arrived: Arc<Semaphore>,
    may_answer: Arc<Semaphore>,
}

async fn refuse(State(bank): State<Bank>) -> StatusCode {
    // A task, since a caller that goes away doesn't end the work.
    let answer = async move {
        bank.arrived.add_permits(1);
        bank.may_answer.acquire().await.unwrap().forget();
        StatusCode::CONFLICT
    };
    tokio::spawn(answer).await.unwrap()
}

#[tokio::test]
async fn call_that_is_refused_after_the_cancel_needs_no_person() {
    let system = System::with(Options { lease: Some(LEASE), ..options() }).await;
    let (olga, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    let bank = Bank { arrived: Arc::new(Semaphore::new(0)), may_answer: Arc::new(Semaphore::new(0)) };
    let url = serve(Router::new().route("/pay", post(refuse)).with_state(bank.clone())).await;
    let pay = json!({
        "Name": "pay", "Description": "Pays.", "Method": "POST", "Path": "/pay",
        "Parameters": { "type": "object", "properties": { "to": { "type": "string" } } },
    });
    let connection = json!({ "Name": "Bank", "Protocol": "http", "Url": url, "Tools": [pay] });
    put(&olga, &CONNECTIONS.context("bank"), &connection).await.result();
    put(&olga, &AGENTS.context("clerk"), &json!({ "Name": "Clerk", "Tools": ["bank"] })).await.result();
    let first = asks(r#"call bank__pay {"to":"bob"}"#);
    let during = async {
        bank.arrived.acquire().await.unwrap().forget();
        cancel(&ada, &first).await;
        // Before its outcome is known, the call is marked.
        only_unknown(&olga).await;
        bank.may_answer.add_permits(1);
    };
    futures::join!(ada.execute(&first), during);
    let is_empty = |answer: &Answer| answer.json()["Result"]["Items"] == json!([]);
    olga.until(EFFECTS, PATIENCE, is_empty).await.result();
}
