//! Turns that are cancelled while a call with effects is on its way.

use std::time::Duration;

use serde_json::Value;

use crate::effects::{only_unknown, open};
use crate::export::operator;
use crate::shop::{Moment, asks, call};
use crate::support::{Client, PATIENCE, turn_path};

async fn cancel(client: &Client, turn: &Value) {
    client.post(&format!("{}/cancel", turn_path(turn)), String::new()).await.result();
}

#[tokio::test]
async fn cancelled_turn_cancels_its_call_of_an_mcp_server() {
    let ends = [(true, "end of the connection"), (false, "notifications/cancelled")];
    for ((is_stateless, wanted), tool) in ends.into_iter().flat_map(|end| [(end, "refund"), (end, "status")])
    {
        let (system, shop, mut kills) = open("mcp", is_stateless).await;
        let (olga, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
        shop.kill_at("1", Moment::Lost);
        let first = asks(&call(tool, "1"));
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
        let read = ada.get(&turn_path(&first)).await.result();
        let is_unknown = read["Warnings"].to_string().contains("is unknown");
        assert_eq!(is_unknown, tool == "refund", "{read}");
        if is_unknown {
            assert_eq!(only_unknown(&olga).await["TurnId"], first["TurnId"]);
        }
    }
}
