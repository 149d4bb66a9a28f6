//! Copies of sessions whose turns were ended during a call with effects.

use std::time::Duration;

use contracts::paths::EFFECTS;
use local::Function;
use serde_json::{Value, json};

use crate::effects::{only_unknown, open};
use crate::export::operator;
use crate::import::{import, text};
use crate::shop::{Moment, asks, call};
use crate::support::turn_path;

/// The SHA-256 of `{}`.
const EMPTY: &str = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";

#[tokio::test]
async fn copy_of_a_session_has_the_open_round_of_a_cancelled_turn() {
    let (system, shop, mut kills) = open("http", false).await;
    let (olga, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    shop.kill_at("1", Moment::Performed);
    let first = asks(&format!("{}; {}", call("refund", "2"), call("refund", "1")));
    let kill = async {
        let killed = kills.recv().await.unwrap();
        // The result of the other call is stored.
        while !system.objects().await.iter().any(|object| object.contains("/effect-1-")) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        system.cloud.crash(Function::Execute);
        killed.send(()).ok();
    };
    futures::join!(ada.execute(&first), kill);
    ada.post(&format!("{}/cancel", turn_path(&first)), String::new()).await.result();
    let unknown = only_unknown(&olga).await;
    let steps = ada.get(&format!("{}/steps", turn_path(&first))).await.result();
    let calls = &steps["Items"][0]["Calls"];
    assert!(calls[0]["ResultJson"].to_string().contains("refunded"), "{steps}");
    assert!(calls[1].get("ResultJson").is_none(), "{steps}");

    let exported = text(&olga, &first).await;
    let imported = import(&olga, &exported, "?ids=new").await.result();
    let mut copy = asks("say \"What happened?\"");
    copy["SessionId"] = imported["Sessions"][0]["Id"].clone();
    let mut first_of_copy = first.clone();
    first_of_copy["SessionId"] = copy["SessionId"].clone();
    let path = turn_path(&first_of_copy);
    assert_eq!(ada.get(&format!("{path}/steps")).await.result()["Items"], steps["Items"]);
    let read = ada.get(&path).await.result();
    assert!(read["Warnings"].to_string().contains("shop__refund is unknown"), "{read}");
    ada.execute_when_settled(&copy).await.result();
    let sent = system.last_call().to_string();
    assert!(sent.contains("The turn ended before a result came. The call may have run."), "{sent}");
    let listed = olga.get(EFFECTS).await.result();
    assert_eq!(listed["Items"], json!([unknown]), "the call is resolved where it ran");

    let document: Value = serde_json::from_str(&exported).unwrap();
    let payloads = document["Turns"][0]["Payloads"].as_array().unwrap();
    let place = |kind: &str| payloads.iter().position(|payload| payload["Kind"] == kind).unwrap();
    let intents = document["Stored"].as_array().unwrap().iter();
    let is_intent = |item: &Value| item["Key"].as_str().unwrap().starts_with("EFFECTS#");
    let intent = intents.into_iter().position(is_intent).unwrap();
    let refused = async |change: &dyn Fn(&mut Value), rule: &str| {
        let mut wrong = document.clone();
        change(&mut wrong);
        let answer = import(&olga, &wrong.to_string(), "?ids=new").await;
        assert_eq!(answer.status, 400, "{rule}: {}", answer.text);
        assert!(answer.text.contains(rule), "{rule}: {}", answer.text);
    };
    let remove = |wrong: &mut Value| {
        drop(wrong["Turns"][0]["Payloads"].as_array_mut().unwrap().remove(place("round")))
    };
    refused(&remove, "lacks the round.json").await;
    for (kind, rule) in [("round", "is not a round"), ("effect_result", "is not a result")] {
        let empty = |wrong: &mut Value| {
            let payload = &mut wrong["Turns"][0]["Payloads"][place(kind)];
            (payload["Text"], payload["Sha256"], payload["SizeBytes"]) =
                (json!("{}"), json!(EMPTY), json!(2));
        };
        refused(&empty, rule).await;
    }
    for (member, value, rule) in [
        ("Attempt", json!("a/b"), "ASCII letters"),
        ("At", json!("2999-01-01T00:00:00.000Z"), "is in the future"),
        ("Round", json!(2), "Key"),
    ] {
        refused(&|wrong: &mut Value| wrong["Stored"][intent][member] = value.clone(), rule).await;
    }
}
