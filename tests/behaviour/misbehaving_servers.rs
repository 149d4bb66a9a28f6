//! Sessions with servers that depart from the published schema, by the recordings of `shared/llm/tests/servers`: the turn
//! gets text and call, and the next one tells both.

use std::sync::{Arc, Mutex};

use axum::{Router, body::Bytes, extract::State, http::header::CONTENT_TYPE};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::client_tools::{results, submit};
use crate::support::{System, declaring, turn_in};

/// A server: its name, its wire, its recorded reply, and a later one.
type Server = (&'static str, &'static str, &'static [u8], &'static str);

const COMPLETION: &str = r#"{"choices":[{"message":{"content":"Done."},"finish_reason":"stop"}]}"#;

const SERVERS: [Server; 7] = [
    (
        "vllm",
        "responses",
        include_bytes!("../../shared/llm/tests/servers/vllm.sse"),
        r#"{"object":"response","id":"r2","status":"completed","output":[{"type":"message","content":"Done."}]}"#,
    ),
    ("litellm", "chat-completions", include_bytes!("../../shared/llm/tests/servers/litellm.sse"), COMPLETION),
    ("gateway", "chat-completions", include_bytes!("../../shared/llm/tests/servers/gateway.sse"), COMPLETION),
    (
        "gemini",
        "chat-completions",
        include_bytes!("../../shared/llm/tests/servers/gemini_litellm.sse"),
        COMPLETION,
    ),
    (
        "llamacpp",
        "chat-completions",
        include_bytes!("../../shared/llm/tests/servers/llamacpp.json"),
        COMPLETION,
    ),
    (
        "messages",
        "anthropic-messages",
        include_bytes!("../../shared/llm/tests/servers/messages_gateway.sse"),
        r#"{"content":[{"type":"text","text":"Done."}],"stop_reason":"end_turn"}"#,
    ),
    (
        "converse",
        "bedrock-converse",
        include_bytes!("../../shared/llm/tests/servers/converse.json"),
        r#"{"output":{"message":{"content":[{"text":"Done."}]}},"stopReason":"end_turn"}"#,
    ),
];

type Requests = Arc<Mutex<Vec<String>>>;

/// Serves the recording to the first request and the later reply to others, under a header that says neither. Returns the
/// base URL and the requests.
async fn serve((_, _, first, later): Server) -> (String, Requests) {
    let requests = Requests::default();
    let answer = move |State(requests): State<Requests>, body: Bytes| async move {
        let mut requests = requests.lock().unwrap();
        requests.push(String::from_utf8(body.to_vec()).unwrap());
        let reply = if requests.len() == 1 { first } else { later.as_bytes() };
        ([(CONTENT_TYPE, "text/plain")], reply)
    };
    let router = Router::new().fallback(answer).with_state(requests.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (base, requests)
}

#[tokio::test]
async fn turn_and_next_turn_survive_every_misbehaving_server() {
    let (mut declared, mut contexts, mut all_requests) = (Vec::new(), Vec::new(), Vec::new());
    for server in SERVERS {
        let (base, requests) = serve(server).await;
        let (name, wire, ..) = server;
        declared.push(json!({ "Name": name, "BaseUrl": base, "Wire": wire, "KeySetting": "OPENAI_API_KEY" }));
        let look = json!({
            "Name": "look", "Description": "Looks.", "ExecutedBy": "client",
            "Parameters": { "type": "object", "properties": { "at": { "type": "integer" } } },
        });
        contexts.push(json!({
            "Kind": "conversation", "Id": name, "Name": name, "System": "Be brief.", "Provider": name,
            "ModelName": "m", "Chain": "local", "ClientTools": [look],
        }));
        all_requests.push(requests);
    }
    let system = System::with(declaring(&Value::Array(declared))).await;
    system.put_contexts("acme", &Value::Array(contexts)).await;
    let ada = system.client("acme", "ada");
    for ((name, ..), requests) in SERVERS.iter().zip(&all_requests) {
        let on = |instruction: &str| {
            let mut turn = turn_in(name, instruction);
            turn["ConversationContextId"] = json!(name);
            turn
        };
        let continuation = ada.execute(&on("Look.")).await.result();
        let calls = continuation["ToolCalls"].as_array().map(Vec::len);
        assert_eq!(calls, Some(1), "{name}: {continuation}");
        let answer = submit(&ada, &results(&continuation, "a plum")).await.result();
        assert!(answer["PrimaryOutputText"].as_str().unwrap().ends_with("Done."), "{name}: {answer}");
        let next = ada.execute(&on("And now?")).await.result();
        assert_eq!(next["PrimaryOutputText"], "Done.", "{name}");
        let requests = requests.lock().unwrap();
        assert_eq!(requests.len(), 3, "{name}");
        for request in &requests[1..] {
            assert_eq!(request.matches("Let me look 👍.").count(), 1, "{name}: {request}");
            assert!(request.contains("a plum"), "{name}: {request}");
        }
    }
}
