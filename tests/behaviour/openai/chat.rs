//! `POST /v1/chat/completions`.

use reqwest::Method;
use serde_json::{Value, json};

use super::error;
use crate::support::{Answer, Client, System, said, system_message, tools};

const CHAT: &str = "/v1/chat/completions";

async fn send(client: &Client, body: &Value) -> Answer {
    client.post(CHAT, body.to_string()).await
}

async fn complete(client: &Client, messages: &Value) -> Value {
    let answer = send(client, &json!({"model": "scripted", "messages": messages})).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

fn message(completion: &Value) -> Value {
    completion["choices"][0]["message"].clone()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// The chunks of a stream, which ends as it should.
fn chunks(stream: &str) -> Vec<Value> {
    let lines: Vec<&str> = stream.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    let (last, chunks) = lines.split_last().expect("chunks");
    assert_eq!(*last, "[DONE]");
    chunks.iter().map(|chunk| serde_json::from_str(chunk).expect("JSON")).collect()
}

async fn turn_counts(client: &Client) -> Vec<u64> {
    let sessions = client.get("/api/ai/agent/sessions").await.result();
    let mut counts: Vec<u64> = sessions["Items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["TurnCount"].as_u64().unwrap())
        .collect();
    counts.sort_unstable();
    counts
}

#[tokio::test]
async fn repeated_history_goes_on_in_its_session() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let mut messages = vec![
        json!({"role": "system", "content": "Be kind."}),
        user("Hi [[script: say \"Hello.\"; usage 9 3]]"),
    ];
    let first = complete(&ada, &json!(messages)).await;
    assert_eq!(
        (&first["object"], &first["choices"][0]["finish_reason"]),
        (&json!("chat.completion"), &json!("stop"))
    );
    assert_eq!(
        (&message(&first)["content"], &first["usage"]["total_tokens"]),
        (&json!("Hello."), &json!(12))
    );
    let mut answer = message(&first);
    for n in 2..=3 {
        messages.push(json!({"role": "assistant", "content": answer["content"]}));
        messages.push(user(&format!("Message {n} [[script: say \"Answer {n}.\"]]")));
        answer = message(&complete(&ada, &json!(messages)).await);
        assert_eq!(answer["content"], format!("Answer {n}."));
    }
    assert_eq!(turn_counts(&ada).await, [3]);
    let calls = system.model_calls();
    assert!(system_message(&calls[0]).contains("Be kind."));
    assert!(!said(calls.last().unwrap()).contains("Message 2"), "the history isn't sent as text");
}

#[tokio::test]
async fn linear_chat_is_one_session_and_an_edit_forks_it() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let hi = user("Hi [[script: say \"Hello.\"]]");
    let hello = message(&complete(&ada, &json!([hi])).await);
    let two = user("Two [[script: say \"Second.\"]]");
    let second = message(&complete(&ada, &json!([hi, hello, two])).await);
    let three = user("Three [[script: say \"Third.\"]]");
    complete(&ada, &json!([hi, hello, two, second, three])).await;
    assert_eq!(turn_counts(&ada).await, [3]);
    let edited = user("Edited [[script: say \"Other.\"]]");
    let other = message(&complete(&ada, &json!([hi, hello, edited])).await);
    assert_eq!(turn_counts(&ada).await, [1, 3], "an edit forks");
    complete(&ada, &json!([hi, hello, edited, other, three])).await;
    assert_eq!(turn_counts(&ada).await, [2, 3], "and goes on in its fork");
    complete(&ada, &json!([hi])).await;
    assert_eq!(turn_counts(&ada).await, [1, 2, 3], "the same first message begins another chat");
}

#[tokio::test]
async fn tool_result_resumes_the_turn() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let function =
        json!({"name": "get_weather", "description": "d", "parameters": super::weather()["parameters"]});
    let mut body = json!({
        "model": "scripted",
        "messages": [user("Weather? [[script: call get_weather {\"city\":\"Bern\"}; then; say \"Sunny.\"]]")],
        "tools": [{"type": "function", "function": function}],
    });
    let called = send(&ada, &body).await.json();
    assert_eq!(called["choices"][0]["finish_reason"], "tool_calls", "{called}");
    let call = message(&called)["tool_calls"][0].clone();
    assert_eq!(
        (&call["function"]["name"], &call["function"]["arguments"]),
        (&json!("get_weather"), &json!("{\"city\":\"Bern\"}"))
    );
    assert!(tools(&system.model_calls()[0]).contains(&"get_weather"));
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(message(&called));
    messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": "sunny"}));
    let resumed = message(&send(&ada, &body).await.json());
    assert_eq!(resumed["content"], "Sunny.");
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(resumed);
    messages.push(user("Thanks [[script: say \"Welcome.\"]]"));
    assert_eq!(message(&send(&ada, &body).await.json())["content"], "Welcome.");
    assert_eq!(turn_counts(&ada).await, [2]);
}

#[tokio::test]
async fn chat_is_streamed_with_usage() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let body = json!({"model": "scripted", "messages": [user("Hi [[script: words 5; usage 9 3]]")], "stream": true,
                      "stream_options": {"include_usage": true}});
    let answer = send(&ada, &body).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let all = chunks(&answer.text);
    let text: String = all
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(text, "word1 word2 word3 word4 word5");
    assert_eq!(
        (&all[0]["choices"][0]["delta"]["role"], &all[0]["object"]),
        (&json!("assistant"), &json!("chat.completion.chunk"))
    );
    assert_eq!(
        (&all[all.len() - 1]["usage"]["total_tokens"], &all[all.len() - 2]["choices"][0]["finish_reason"]),
        (&json!(12), &json!("stop"))
    );
}

#[tokio::test]
async fn image_and_format_reach_the_model() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
                        "additionalProperties": false});
    let body = json!({
        "model": "agent/default", "max_tokens": 50,
        "messages": [{"role": "user", "content": [
            {"type": "text", "text": "Count [[script: say \"{\\\"n\\\":1}\"]]"},
            {"type": "image_url", "image_url": {"url": super::requests::PNG}},
        ]}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "count", "schema": schema, "strict": true}},
    });
    assert_eq!(message(&send(&ada, &body).await.json())["content"], "{\"n\":1}");
    let call = &system.model_calls()[0];
    assert_eq!((&call["text"]["format"]["name"], &call["max_output_tokens"]), (&json!("count"), &json!(50)));
    assert!(call["input"].to_string().contains(super::requests::PNG));
}

#[tokio::test]
async fn retried_and_refused_chats_cost_nothing() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let body = json!({"model": "scripted", "messages": [user("Hi")]});
    let first = send(&ada, &body).await.json();
    let headers = [("content-type", "application/json"), ("x-stainless-retry-count", "1")];
    let retried = ada.raw(Method::POST, CHAT, &headers, body.to_string().into_bytes()).await.json();
    assert_eq!(retried["id"], first["id"]);
    for (members, param) in [
        (json!({"n": 2}), "n"),
        (json!({"logprobs": true}), "logprobs"),
        (json!({"messages": []}), "messages"),
    ] {
        let mut body = body.clone();
        body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let answer = send(&ada, &body).await;
        assert_eq!((error(&answer).0, error(&answer).1.as_str()), (400, param));
    }
    assert_eq!(system.model_calls().len(), 1);
}
