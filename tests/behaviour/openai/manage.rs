//! Reading, cancelling and deleting responses and conversations.

use openai_api::id::ResponseId;
use reqwest::Method;
use serde_json::json;

use super::{RESPONSES, create, create_with, created, error, id, path, request, text, weather, with};
use crate::support::{PATIENCE, System};

#[tokio::test]
async fn response_is_hidden_from_other_orgs() {
    let system = System::start().await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("rival", "eve"));
    let response = created(&ada, &request("our secret")).await;
    for (method, path) in [
        (Method::GET, path(&response)),
        (Method::GET, format!("{}?stream=true", path(&response))),
        (Method::GET, format!("{}/input_items", path(&response))),
        (Method::POST, format!("{}/cancel", path(&response))),
        (Method::DELETE, path(&response)),
    ] {
        let foreign = eve.send(method.clone(), &path, None).await;
        assert_eq!(error(&foreign), (404, "id".to_owned(), "not_found".to_owned()), "{method} {path}");
    }
    assert_eq!(ada.get(&path(&response)).await.status, 200);
    assert_eq!(system.anonymous().get(&path(&response)).await.status, 401);
    let unknown = ada.get(&format!("{}?colour=red", path(&response))).await;
    assert_eq!(error(&unknown), (400, "colour".to_owned(), "unknown_parameter".to_owned()));
}

#[tokio::test]
async fn hidden_response_and_conversation_look_unknown() {
    let system = System::metered().await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("acme", "eve"));
    let response = created(&ada, &with(request("our secret"), &json!({"conversation": "conv_hidden"}))).await;
    let private = json!({"Visibility": "participants"}).to_string();
    ada.send(Method::PATCH, "/api/ai/agent/sessions/hidden", Some(private)).await.result();
    let never = ResponseId::first("never".parse().unwrap(), "never".parse().unwrap()).to_string();
    let unknown = |text: &str| text.replace(id(&response), &never).replace("conv_hidden", "conv_never");
    let (item, conversation) = (json!({"items": []}), "/v1/conversations/conv_hidden");
    let follows = with(request("x"), &json!({"previous_response_id": id(&response)}));
    for (method, path, body) in [
        (Method::GET, path(&response), None),
        (Method::GET, format!("{}?stream=true", path(&response)), None),
        (Method::GET, format!("{}/input_items", path(&response)), None),
        (Method::POST, format!("{}/cancel", path(&response)), None),
        (Method::DELETE, path(&response), None),
        (Method::POST, RESPONSES.to_owned(), Some(follows)),
        (Method::GET, conversation.to_owned(), None),
        (Method::GET, format!("{conversation}/items"), None),
        (Method::GET, format!("{conversation}/items/msg_x"), None),
        (Method::POST, format!("{conversation}/items"), Some(item)),
        (Method::DELETE, conversation.to_owned(), None),
    ] {
        let ask = async |is_hidden: bool| {
            let body = body.as_ref().map(ToString::to_string);
            let (path, body) = match is_hidden {
                true => (path.clone(), body),
                false => (unknown(&path), body.map(|body| unknown(&body))),
            };
            drop(system.take_calls());
            let answer = eve.send(method.clone(), &path, body).await;
            let calls = system.take_calls().into_iter().filter(|call| call.function != "turn-finalizer");
            let mut calls: Vec<String> =
                calls.map(|call| format!("{:?} {}", call.service, call.operation)).collect();
            calls.sort_unstable();
            (answer.status, unknown(&answer.text), calls)
        };
        // A process that starts reads what it caches, so equal calls may need another try.
        let mut asked = (ask(true).await, ask(false).await);
        for _ in 0..3 {
            if asked.0 != asked.1 {
                asked = (ask(true).await, ask(false).await);
            }
        }
        let (found, nothing) = asked;
        assert!((400..500).contains(&found.0), "{method} {path}: {}", found.1);
        assert_eq!(found, nothing, "{method} {path}");
    }
    assert_eq!(ada.get(&path(&response)).await.status, 200);
}

#[tokio::test]
async fn running_response_is_cancelled() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let conversation = json!({"conversation": "conv_c1"});
    let sent = with(request("Write [[script: say \"First\"; hang 60s; say \" last.\"]]"), &conversation);
    let cancelled = async {
        system.model_called(1).await;
        let turn = ada.get("/api/ai/agent/sessions/c1/turns/last").await.result();
        let running = ResponseId::first("c1".parse().unwrap(), turn["Id"].as_str().unwrap().parse().unwrap());
        assert_eq!(ada.get(&format!("{RESPONSES}/{running}")).await.json()["status"], "in_progress");
        ada.post(&format!("{RESPONSES}/{running}/cancel"), String::new()).await.json()
    };
    let (answer, cancelled) = futures::join!(create(&ada, &sent), cancelled);
    assert_eq!((answer.status, &cancelled["status"]), (200, &json!("cancelled")), "{}", answer.text);
    assert_eq!((&answer.json()["status"], &answer.json()["id"]), (&json!("cancelled"), &cancelled["id"]));
    let read = ada.until(&path(&cancelled), PATIENCE, |read| read.json()["status"] == "cancelled").await;
    assert_eq!(read.json()["error"], json!(null));
    let done = created(&ada, &request("Hi [[script: say \"Hello.\"]]")).await;
    let late = ada.post(&format!("{}/cancel", path(&done)), String::new()).await.json();
    assert_eq!(
        (&late["status"], text(&late).as_str()),
        (&json!("completed"), "Hello."),
        "its outcome stands"
    );
}

#[tokio::test]
async fn background_response_is_answered_before_its_end() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let sent =
        with(request("Hi [[script: say \"Hello\"; hang 60s; say \".\"]]"), &json!({"background": true}));
    let key = [("idempotency-key", "k1")];
    let response = create_with(&ada, &sent, &key).await.json();
    assert_eq!((&response["background"], &response["status"]), (&json!(true), &json!("in_progress")));
    assert_eq!(id(&create_with(&ada, &sent, &key).await.json()), id(&response), "a repeat joins it");
    let other = created(&ada, &request("Hi [[script: say \"Other.\"]]")).await;
    assert_eq!(text(&other), "Other.", "its process takes no other request");
    assert_eq!(ada.get(&path(&response)).await.json()["status"], "in_progress");
    let cancelled = ada.post(&format!("{}/cancel", path(&response)), String::new()).await.json();
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!(system.model_calls().len(), 2);
}

#[tokio::test]
async fn background_response_gets_its_outcome() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let background = json!({"background": true, "tools": [weather()]});
    for (script, status) in [("say \"Hello.\"", "completed"), ("fail", "failed")] {
        let sent = with(request(&format!("Hi [[script: {script}]]")), &background);
        let response = created(&ada, &sent).await;
        let ended =
            ada.until(&path(&response), PATIENCE, |read| read.json()["status"] != "in_progress").await.json();
        assert_eq!((&ended["status"], id(&ended)), (&json!(status), id(&response)));
    }
    let calling = "Hi [[script: call get_weather {\"city\": \"Rome\"}; then; hang 60s; say \"Sunny.\"]]";
    let response = created(&ada, &with(request(calling), &background)).await;
    let calls =
        ada.until(&path(&response), PATIENCE, |read| read.json()["status"] == "completed").await.json();
    let output = json!({
        "type": "function_call_output", "call_id": calls["output"][0]["call_id"], "output": "sunny",
    });
    let outputs = json!({
        "input": [output], "previous_response_id": id(&response), "background": true,
        "model": "agent/default",
    });
    let resumed = created(&ada, &outputs).await;
    assert_eq!(resumed["status"], "in_progress");
    system.cloud.model().unwrap().end_pauses();
    let ended =
        ada.until(&path(&resumed), PATIENCE, |read| read.json()["status"] == "completed").await.json();
    assert_eq!(text(&ended), "Sunny.");
    let refused = create(&ada, &with(request("x"), &json!({"background": 5}))).await;
    assert_eq!((refused.status, error(&refused).1.as_str()), (400, "background"));
}

#[tokio::test]
async fn deleted_response_is_gone() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let only = created(&ada, &request("Hi")).await;
    let deleted = ada.send(Method::DELETE, &path(&only), None).await.json();
    assert_eq!(deleted, json!({"id": id(&only), "object": "response", "deleted": true}));
    assert_eq!(ada.get(&path(&only)).await.status, 404);
    assert_eq!(ada.send(Method::DELETE, &path(&only), None).await.status, 404);
    let after = with(request("x"), &json!({"previous_response_id": id(&only)}));
    assert_eq!(error(&create(&ada, &after).await).2, "previous_response_not_found");

    let first = created(&ada, &request("Hi")).await;
    created(&ada, &with(request("And?"), &json!({"previous_response_id": id(&first)}))).await;
    let refused = ada.send(Method::DELETE, &path(&first), None).await;
    assert_eq!((refused.status, error(&refused).2.as_str()), (400, "unsupported_parameter"));
}

#[tokio::test]
async fn conversation_holds_its_responses_until_deleted() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let conversation = ada.post("/v1/conversations", "{}".to_owned()).await.json();
    assert_eq!(conversation["object"], "conversation");
    let place = json!({"conversation": conversation["id"]});
    let response = created(&ada, &with(request("Hi"), &place)).await;
    created(&ada, &with(request("And?"), &place)).await;
    let path_of = format!("/v1/conversations/{}", conversation["id"].as_str().unwrap());
    assert_eq!(ada.get(&path_of).await.json()["id"], conversation["id"]);
    let deleted = ada.send(Method::DELETE, &path_of, None).await.json();
    assert_eq!((&deleted["object"], &deleted["deleted"]), (&json!("conversation.deleted"), &json!(true)));
    assert_eq!((ada.get(&path_of).await.status, ada.get(&path(&response)).await.status), (404, 404));
    let unknown = ada.post("/v1/conversations", json!({"banana": 1}).to_string()).await;
    assert_eq!((unknown.status, error(&unknown).1.as_str()), (400, "banana"));
    for wrong in ["5", "[]", "{\"items\": 5}", "{\"metadata\": true}", "{"] {
        assert_eq!(ada.post("/v1/conversations", wrong.to_owned()).await.status, 400, "{wrong}");
    }
}
