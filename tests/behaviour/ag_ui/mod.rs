//! AG-UI under `/v1/ag-ui`: the plain endpoint, and the routes of CopilotKit's runtime.

mod clients;
mod requests;
mod runs;
mod threads;
mod tools;

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::support::{Answer, Client};

const BASE: &str = "/v1/ag-ui";

const HEADERS: [(&str, &str); 2] = [("content-type", "application/json"), ("accept", "text/event-stream")];

async fn send(client: &Client, path: &str, body: &Value) -> Answer {
    client.raw(Method::POST, path, &HEADERS, body.to_string().into_bytes()).await
}

/// A request whose response is read in pieces.
fn request(client: &Client, path: &str, body: &Value) -> RequestBuilder {
    client.request(Method::POST, path, &HEADERS, body.to_string().into_bytes())
}

/// The input of a run, as `HttpAgent` 1.0 sends it.
fn input(thread: &str, run: &str, messages: &Value) -> Value {
    json!({"threadId": thread, "runId": run, "protocolVersion": "1.0", "state": {}, "messages": messages,
           "tools": [], "context": [], "forwardedProps": {}})
}

/// The same input with more members.
fn with(mut input: Value, members: &Value) -> Value {
    input.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    input
}

fn user(id: &str, text: &str) -> Value {
    json!({"id": id, "role": "user", "content": text})
}

/// The events of an answer, which must be a stream.
fn events(answer: &Answer) -> Vec<Value> {
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, Some("text/event-stream")),
        "{}",
        answer.text
    );
    parsed(&answer.text)
}

fn parsed(text: &str) -> Vec<Value> {
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

/// Runs an input that must be accepted.
async fn run(client: &Client, input: &Value) -> Vec<Value> {
    events(&send(client, BASE, input).await)
}

fn connect_path() -> String {
    format!("{BASE}/agent/default/connect")
}

async fn connect(client: &Client, thread: &str) -> Vec<Value> {
    events(&send(client, &connect_path(), &input(thread, "connect", &json!([]))).await)
}

/// The types of events, without repetition.
fn kinds(events: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    kinds.dedup();
    kinds
}

fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// The text of the last message.
fn text(events: &[Value]) -> String {
    let deltas = of(events, "TEXT_MESSAGE_CONTENT");
    let last = deltas.last().map(|delta| delta["messageId"].clone()).unwrap_or_default();
    deltas
        .iter()
        .filter(|delta| delta["messageId"] == last)
        .filter_map(|delta| delta["delta"].as_str())
        .collect()
}

/// The messages that a client has after a stream, as `HttpAgent` builds them: those of the assistant and of tools.
fn messages(events: &[Value]) -> Vec<Value> {
    let mut messages: Vec<Value> = Vec::new();
    for event in events {
        let has = |id: &Value| messages.iter().position(|message| message["id"] == *id);
        match event["type"].as_str().unwrap() {
            "MESSAGES_SNAPSHOT" => messages = event["messages"].as_array().unwrap().clone(),
            "TEXT_MESSAGE_START" if has(&event["messageId"]).is_none() => {
                messages.push(json!({"id": event["messageId"], "role": "assistant", "content": ""}));
            }
            "TEXT_MESSAGE_CONTENT" => {
                let at = has(&event["messageId"]).unwrap();
                let text = format!(
                    "{}{}",
                    messages[at]["content"].as_str().unwrap(),
                    event["delta"].as_str().unwrap()
                );
                messages[at]["content"] = text.into();
            }
            "TOOL_CALL_START" => {
                let parent = &event["parentMessageId"];
                let at = has(parent).unwrap_or_else(|| {
                    messages.push(json!({"id": parent, "role": "assistant", "content": ""}));
                    messages.len() - 1
                });
                let call = json!({"id": event["toolCallId"], "type": "function",
                                  "function": {"name": event["toolCallName"], "arguments": ""}});
                let message = messages[at].as_object_mut().unwrap();
                message.entry("toolCalls").or_insert(json!([])).as_array_mut().unwrap().push(call);
            }
            "TOOL_CALL_ARGS" => {
                let calls =
                    messages.iter_mut().filter_map(|message| message.get_mut("toolCalls")?.as_array_mut());
                let call = calls.flatten().find(|call| call["id"] == event["toolCallId"]).unwrap();
                call["function"]["arguments"] = event["delta"].clone();
            }
            "TOOL_CALL_RESULT" => messages.push(json!({
                "id": event["messageId"], "role": "tool", "toolCallId": event["toolCallId"],
                "content": event["content"],
            })),
            _ => {}
        }
    }
    messages
}

/// The code and the message of a refused request.
fn error(answer: &Answer) -> (u16, String, String) {
    let body = answer.json();
    let text = |name: &str| body[name].as_str().unwrap_or_else(|| panic!("{body}")).to_owned();
    (answer.status, text("error"), text("message"))
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
