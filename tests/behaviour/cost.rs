//! Costs of turns, and raw model payloads for operators.

use std::time::Duration;

use local::token::Identity;
use serde_json::{Value, json};

use crate::support::{
    Answer, Client, System, options, session_path, turn, turn_in, turn_path, workspace_turn,
};

fn request(instruction: &str) -> Value {
    let mut turn = turn(instruction);
    turn["ConversationContextId"] = json!("c");
    turn
}

/// Waits until the session's totals include its turns, and returns it.
async fn rolled_up(client: &Client, request: &Value, tokens: impl Fn(u64) -> bool) -> Value {
    let total = |answer: &Answer| answer.json()["Result"]["TotalUsage"]["TotalTokens"].as_u64();
    let wanted = |answer: &Answer| total(answer).is_some_and(&tokens);
    client.until(&session_path(request), Duration::from_secs(10), wanted).await.result()
}

#[tokio::test]
async fn turn_and_session_show_exact_cost_including_failed_replies() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let prices = json!({"PromptPerMillion": "1.25", "CachedPromptPerMillion": "0.125", "CacheWritePerMillion": "2",
                        "CompletionPerMillion": "10", "Currency": "USD"});
    system.put_context(json!({ "Prices": prices })).await;
    let first = request("Spend [[script: usage 1000 100 cached 600 written 200; say \"Done.\"]]");
    ada.execute(&first).await.result();
    let read = ada.get(&turn_path(&first)).await.result();
    assert_eq!(read["Cost"], json!({"Amount": "0.001725", "Currency": "USD"}));
    assert_eq!(
        (&read["Usage"]["CachedTokens"], &read["Usage"]["CacheWriteTokens"]),
        (&json!(600), &json!(200))
    );

    let mut second = request("Fail [[script: usage 1000 0; incomplete]]");
    second["SessionId"] = first["SessionId"].clone();
    assert_eq!(ada.execute(&second).await.error(), "ModelReplyIncomplete");
    let read = ada.get(&turn_path(&second)).await.result();
    assert_eq!((&read["Usage"]["PromptTokens"], &read["Cost"]["Amount"]), (&json!(1000), &json!("0.00125")));
    let session = rolled_up(&ada, &first, |tokens| tokens == 2_100).await;
    assert_eq!(session["TotalCosts"], json!([{"Amount": "0.002975", "Currency": "USD"}]));
}

#[tokio::test]
async fn superseded_turn_counts_its_usage() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let waiting =
        workspace_turn("Read [[script: usage 100 10; call workspace_read_file {\"path\":\"a.rs\"}]]");
    assert_eq!(ada.execute(&waiting).await.result()["Kind"], "client_tool_continuation");
    let session = waiting["SessionId"].as_str().unwrap();
    ada.execute(&turn_in(session, "Never mind [[script: usage 1 1; say \"Fine.\"]]")).await.result();
    assert_eq!(ada.get(&turn_path(&waiting)).await.result()["Usage"]["TotalTokens"], 110);
    let session = rolled_up(&ada, &waiting, |tokens| tokens == 112).await;
    assert_eq!(session["TotalUsage"]["TotalTokens"], 112);
}

#[tokio::test]
async fn without_prices_there_is_no_cost() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    system.put_context(json!({"ModelName": "house-model"})).await;
    let free = request("hello");
    ada.execute(&free).await.result();
    assert!(ada.get(&turn_path(&free)).await.result().get("Cost").is_none());
    assert!(rolled_up(&ada, &free, |tokens| tokens > 0).await.get("TotalCosts").is_none());
}

#[tokio::test]
async fn raw_payloads_are_stored_by_context_and_read_by_operators_only() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let operator = system.identified(&Identity { operator: true, ..Identity::user("acme", "op") });
    system.put_context(json!({"StoreRawPayloads": true})).await;
    let kept = request("Look [[script: call agent_list_modes {}; then; say \"Done.\"]]");
    ada.execute(&kept).await.result();
    let path = turn_path(&kept);
    let calls = system.model_calls();
    let read = async |name: &str| -> Value {
        let url = operator.get(&path).await.result()[name].as_str().unwrap().to_owned();
        let link = operator.get(&url).await;
        let text = reqwest::get(link.header("location").unwrap()).await.unwrap().text().await.unwrap();
        serde_json::from_str(&text).unwrap()
    };
    assert_eq!(read("OpenAIRequestPayloadUrl").await, calls[1], "the last call's, as it was sent");
    let response = read("OpenAIResponsePayloadUrl").await;
    assert_eq!((&response["object"], &response["status"]), (&json!("response"), &json!("completed")));
    let objects = system.objects().await;
    for name in ["request-1.json", "response-1.json", "request-2.json", "response-2.json"] {
        assert_eq!(objects.iter().filter(|key| key.ends_with(name)).count(), 1, "{name}");
    }

    let seen = ada.get(&path).await.result();
    assert!(seen.get("OpenAIRequestPayloadUrl").is_none() && seen.get("OpenAIResponsePayloadUrl").is_none());
    for name in ["llm-request", "llm-response"] {
        let refused = ada.get(&format!("{path}/payloads/{name}")).await;
        assert_eq!((refused.status, refused.error().as_str()), (404, "PayloadNotFound"));
    }
    let unkept = turn("hello");
    ada.execute(&unkept).await.result();
    assert!(operator.get(&turn_path(&unkept)).await.result().get("OpenAIRequestPayloadUrl").is_none());
    assert_eq!(operator.get(&format!("{}/payloads/llm-request", turn_path(&unkept))).await.status, 404);
}

#[tokio::test]
async fn raw_payloads_of_every_turn_are_stored_by_setting() {
    let system = System::with(local::Options { raw_payloads: true, ..options() }).await;
    let sent = turn("hello");
    system.client("acme", "ada").execute(&sent).await.result();
    let operator = system.identified(&Identity { operator: true, ..Identity::user("acme", "op") });
    let stored = operator.get(&turn_path(&sent)).await.result();
    let link = operator.get(stored["OpenAIRequestPayloadUrl"].as_str().unwrap()).await;
    let text = reqwest::get(link.header("location").unwrap()).await.unwrap().text().await.unwrap();
    let request: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(request, system.model_calls()[0]);
}
