//! The APIs besides Responses, as their clients see them: Chat Completions, Anthropic's Messages, and Bedrock's Converse.

// The helpers are test code too, which clippy knows of functions marked as tests only.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use aws_smithy_eventstream::frame::read_message_from;
use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::response::Response;
use http_body_util::BodyExt;
use mock_model::{Provider, Recorder};
use serde_json::{Value, json};
use tower::ServiceExt;

/// A server with its own memory.
struct Server {
    recorder: Recorder,
    router: Router,
}

impl Server {
    fn new() -> Self {
        let recorder = Recorder::default();
        Self { router: mock_wires::router(Provider::default(), recorder.clone()), recorder }
    }
}

async fn json_of(response: Response) -> Value {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&bytes).unwrap()
}

/// The headers of a request to Anthropic's API.
const VERSIONED: [(&str, &str); 2] = [("x-api-key", "key"), ("anthropic-version", "2023-06-01")];

async fn post(server: &Server, path: &str, headers: &[(&str, &str)], body: &Value) -> Response {
    let mut request = Request::post(path).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::from(body.to_string())).unwrap();
    server.router.clone().oneshot(request).await.unwrap()
}

async fn complete(server: &Server, body: &Value) -> Response {
    post(server, "/v1/chat/completions", &[("authorization", "Bearer key")], body).await
}

async fn message(server: &Server, body: &Value) -> Response {
    post(server, "/v1/messages", &VERSIONED, body).await
}

/// The data of a stream's events, in order.
async fn data(response: Response) -> Vec<String> {
    assert_eq!(response.status(), StatusCode::OK);
    let text = response.into_body().collect().await.unwrap().to_bytes();
    let text = String::from_utf8(text.to_vec()).unwrap();
    text.lines().filter_map(|line| line.strip_prefix("data: ")).map(str::to_owned).collect()
}

fn asking(instruction: &str) -> Value {
    let text = format!("[MODE: general]\n\n[INSTRUCTION]\n{instruction}");
    json!({ "model": "scripted", "max_tokens": 99, "messages": [{ "role": "user", "content": text }] })
}

fn with(mut body: Value, members: Value) -> Value {
    body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    body
}

#[tokio::test]
async fn completion_is_streamed_in_chunks_and_ends_with_usage_and_done() {
    let server = Server::new();
    let asking = asking(r#"Go. [[script: say "Two words."; call look {"at":1}; usage 9 4 cached 3]]"#);
    let options = json!({ "stream": true, "stream_options": { "include_usage": true } });
    let mut chunks = data(complete(&server, &with(asking.clone(), options)).await).await;
    assert_eq!(chunks.pop().as_deref(), Some("[DONE]"));
    let chunks: Vec<Value> = chunks.iter().map(|data| serde_json::from_str(data).unwrap()).collect();
    assert!(chunks.iter().all(|chunk| chunk["object"] == "chat.completion.chunk"));
    let usage = &chunks.last().unwrap()["usage"];
    assert_eq!(
        (&usage["total_tokens"], &usage["prompt_tokens_details"]["cached_tokens"]),
        (&json!(13), &json!(3))
    );
    let ends: Vec<&Value> = chunks.iter().map(|chunk| &chunk["choices"][0]["finish_reason"]).collect();
    assert_eq!(ends[ends.len() - 2], "tool_calls");

    let silent = data(complete(&server, &with(asking.clone(), json!({ "stream": true }))).await).await;
    assert!(!silent.iter().any(|data| data.contains("usage")), "not asked for");

    let whole = json_of(complete(&server, &asking).await).await;
    let message = &whole["choices"][0]["message"];
    assert_eq!(message["content"], "Two words.");
    assert_eq!(message["tool_calls"][0]["function"], json!({ "name": "look", "arguments": "{\"at\":1}" }));
}

#[tokio::test]
async fn message_is_streamed_in_blocks() {
    let server = Server::new();
    let asking = asking(r#"Go. [[script: think "Hm."; say "Yes."; call look {}; usage 9 4 cached 3]]"#);
    let events = data(message(&server, &with(asking.clone(), json!({ "stream": true }))).await).await;
    let events: Vec<Value> = events.iter().map(|data| serde_json::from_str(data).unwrap()).collect();
    let mut types: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    types.dedup();
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    let expected = ["message_start", "ping"].into_iter().chain([block; 3].concat());
    assert_eq!(types, expected.chain(["message_delta", "message_stop"]).collect::<Vec<_>>());
    let usage = &events[0]["message"]["usage"];
    assert_eq!((&usage["input_tokens"], &usage["cache_read_input_tokens"]), (&json!(6), &json!(3)));
    let end = &events[events.len() - 2];
    assert_eq!(
        (&end["delta"]["stop_reason"], &end["usage"]["output_tokens"]),
        (&json!("tool_use"), &json!(4))
    );

    let whole = json_of(message(&server, &asking).await).await;
    let kinds: Vec<&Value> =
        whole["content"].as_array().unwrap().iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["thinking", "text", "tool_use"]);
}

#[tokio::test]
async fn results_continue_the_script_on_both_wires() {
    let server = Server::new();
    let script = asking(r#"[[script: think "Hm."; call look {}; then; say "Found it."]]"#);
    let whole = json_of(complete(&server, &script).await).await;
    let reply = whole["choices"][0]["message"].clone();
    let id = reply["tool_calls"][0]["id"].clone();
    let mut next = script.clone();
    next["messages"].as_array_mut().unwrap().extend([
        json!({ "role": "assistant", "content": null, "tool_calls": reply["tool_calls"] }),
        json!({ "role": "tool", "tool_call_id": id, "content": "42" }),
    ]);
    let whole = json_of(complete(&server, &next).await).await;
    assert_eq!(whole["choices"][0]["message"]["content"], "Found it.");

    let whole = json_of(message(&server, &script).await).await;
    let id = whole["content"][1]["id"].clone();
    let tools = json!({ "tools": [{ "name": "look", "input_schema": { "type": "object" } }] });
    let mut next = with(script, tools);
    next["messages"].as_array_mut().unwrap().extend([
        json!({ "role": "assistant", "content": whole["content"] }),
        json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": id, "content": "42" }] }),
    ]);
    let answered = json_of(message(&server, &next).await).await;
    assert_eq!(answered["content"][0]["text"], "Found it.");

    next["messages"][1]["content"][0]["thinking"] = json!("Changed.");
    let refused = message(&server, &next).await;
    assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
    let body = json_of(refused).await;
    assert!(body["error"]["message"].as_str().unwrap().contains("Invalid `signature`"), "{body}");
    assert_eq!((&body["type"], &body["error"]["type"]), (&json!("error"), &json!("invalid_request_error")));
}

/// Sends a request of the Converse API.
async fn converse(server: &Server, model: &str, body: &Value) -> Response {
    let path = format!("/v1/model/{model}/converse-stream");
    post(server, &path, &[("authorization", "Bearer key")], body).await
}

fn conversing(instruction: &str) -> Value {
    let text = format!("[MODE: general]\n\n[INSTRUCTION]\n{instruction}");
    json!({ "messages": [{ "role": "user", "content": [{ "text": text }] }] })
}

/// The frames of a stream: kind of event or exception, and payload.
async fn frames(response: Response) -> Vec<(String, Value)> {
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["content-type"], "application/vnd.amazon.eventstream");
    let mut bytes = response.into_body().collect().await.unwrap().to_bytes();
    let mut frames = Vec::new();
    while !bytes.is_empty() {
        let message = read_message_from(&mut bytes).unwrap();
        let header = |name: &str| {
            let header = message.headers().iter().find(|header| header.name().as_str() == name);
            header.map(|header| header.value().as_string().unwrap().as_str().to_owned())
        };
        let kind = header(":event-type").or(header(":exception-type")).unwrap();
        frames.push((kind, serde_json::from_slice(message.payload()).unwrap()));
    }
    frames
}

#[tokio::test]
async fn converse_is_streamed_in_frames() {
    let server = Server::new();
    let asking = conversing(r#"Go. [[script: think "Hm."; say "Yes."; call look {}; usage 9 4 cached 3]]"#);
    let frames = frames(converse(&server, "a.b%3A1", &asking).await).await;
    let mut kinds: Vec<&str> = frames.iter().map(|(kind, _)| kind.as_str()).collect();
    kinds.dedup();
    let block = ["contentBlockDelta", "contentBlockStop"];
    let expected =
        [&["messageStart"], &block[..], &block, &["contentBlockStart"], &block, &["messageStop", "metadata"]];
    assert_eq!(kinds, expected.concat());
    let (_, metadata) = frames.last().unwrap();
    assert_eq!(
        (&metadata["usage"]["inputTokens"], &metadata["usage"]["cacheReadInputTokens"]),
        (&json!(6), &json!(3))
    );
    assert_eq!(frames[frames.len() - 2].1["stopReason"], "tool_use");
    assert_eq!(server.recorder.bodies()[0]["modelId"], "a.b:1");
}

#[tokio::test]
async fn converse_refuses_what_the_api_refuses() {
    let server = Server::new();
    let user = |content: Value| json!({ "role": "user", "content": content });
    let point = json!({ "cachePoint": { "type": "default" } });
    let document = json!({ "document": { "format": "pdf", "name": "a", "source": { "bytes": "YQ==" } } });
    let call = json!({ "role": "assistant", "content": [
        { "toolUse": { "toolUseId": "c", "name": "look", "input": {} } },
    ] });
    let thought = json!({ "reasoningText": { "text": "Hm.", "signature": "another" } });
    let thought = json!({ "role": "assistant", "content": [{ "reasoningContent": thought }] });
    let text = || user(json!([{ "text": "Hello" }]));
    for (messages, status, why) in [
        (json!([user(json!([{ "text": "Hello" }, point]))]), 403, "did not allow prompt caching"),
        (json!([user(json!([{ "text": "Hello" }, document, document]))]), 400, "duplicate document names"),
        (json!([text(), text()]), 400, "must alternate"),
        (json!([text(), call, text()]), 400, "Expected toolResult blocks"),
        (json!([text(), thought, text()]), 400, "Invalid `signature`"),
        (json!([user(json!([{ "text": "Hello", "image": {} }]))]), 400, "messages[0].content[0]"),
    ] {
        let refused = converse(&server, "meta.llama", &json!({ "messages": messages })).await;
        assert_eq!(refused.status().as_u16(), status, "{why}");
        let exception = if status == 403 { "AccessDeniedException" } else { "ValidationException" };
        assert_eq!(refused.headers()["x-amzn-errortype"], exception);
        let body = json_of(refused).await;
        assert!(body["message"].as_str().unwrap().contains(why), "{why}: {body}");
    }
    assert_eq!(server.recorder.invalid_requests().len(), 6);
    let throttled = converse(&server, "meta.llama", &conversing("[[script: status 429]]")).await;
    assert_eq!(throttled.headers()["x-amzn-errortype"], "ThrottlingException");
    let failed =
        frames(converse(&server, "meta.llama", &conversing("[[script: say \"Half\"; error]]")).await).await;
    assert_eq!(failed.last().unwrap().0, "internalServerException");
}

#[tokio::test]
async fn refusals_have_the_form_of_their_api() {
    let server = Server::new();
    let unversioned = post(&server, "/v1/messages", &VERSIONED[..1], &asking("Hello.")).await;
    assert_eq!(unversioned.status(), StatusCode::BAD_REQUEST);
    for (model, script, status, kind) in [
        ("scripted", "status 529", 529, "overloaded_error"),
        ("scripted", "status 500", 500, "api_error"),
        ("scripted", "overflow", 400, "invalid_request_error"),
        ("missing-1", "echo", 404, "not_found_error"),
    ] {
        let body = with(asking(&format!("[[script: {script}]]")), json!({ "model": model }));
        let refused = message(&server, &body).await;
        assert_eq!(refused.status().as_u16(), status, "{script}");
        assert_eq!(json_of(refused).await["error"]["type"], kind, "{script}");
    }
    let unanswered = json!({ "messages": [
        { "role": "user", "content": "Look." },
        { "role": "assistant", "content": null, "tool_calls": [
            { "id": "c", "type": "function", "function": { "name": "look", "arguments": "{}" } },
        ] },
        { "role": "user", "content": "And?" },
    ] });
    let refused = complete(&server, &with(asking("Hello."), unanswered)).await;
    assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
    let odd = with(asking("Hello."), json!({ "input": [] }));
    assert_eq!(json_of(complete(&server, &odd).await).await["error"]["code"], "unknown_parameter");
    assert_eq!(server.recorder.invalid_requests().len(), 3);
}

#[tokio::test]
async fn probe_of_every_wire_is_refused_and_not_recorded() {
    let server = Server::new();
    let input = json!({ "model": "scripted", "input": 0, "max_output_tokens": 16 });
    let responses = post(&server, "/v1/responses", &[("authorization", "Bearer key")], &input).await;
    let probe = json!({ "model": "scripted", "messages": 0, "max_tokens": 16 });
    for response in [responses, complete(&server, &probe).await, message(&server, &probe).await] {
        assert_eq!(response.status(), StatusCode::BAD_REQUEST);
        assert_eq!(json_of(response).await["error"]["type"], "invalid_request_error");
    }
    assert_eq!((server.recorder.count(), server.recorder.invalid_requests()), (0, Vec::new()));
    let refused = converse(&server, "scripted", &json!({ "messages": 0 })).await;
    assert_eq!(refused.headers()["x-amzn-errortype"], "ValidationException");
    assert_eq!((server.recorder.count(), server.recorder.invalid_requests()), (0, Vec::new()));
    // Any other wrong type is a client's mistake.
    complete(&server, &json!({ "model": "scripted", "messages": "Hi", "max_tokens": 16 })).await;
    assert_eq!(server.recorder.invalid_requests().len(), 1);
}
