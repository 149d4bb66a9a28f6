//! The OpenAI-compatible API under `/v1`.

mod chat;
mod client_tools;
mod continued;
mod conversations;
mod derived_ids;
mod errors;
mod files;
mod headers;
pub(crate) mod histories;
mod manage;
mod members;
mod provider_failures;
mod requests;
mod retries;
mod streams;
mod tools;
mod unstored;
mod vector_stores;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use local::{Function, Options};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::{
    agents::editor,
    support::{Answer, Client, LEASE, System, options},
};

pub(crate) use files::upload;

const RESPONSES: &str = "/v1/responses";

/// A request for a response of the mock model.
fn request(input: &str) -> Value {
    json!({"model": "scripted", "input": input})
}

/// The same request with more members.
fn with(mut request: Value, members: &Value) -> Value {
    request.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    request
}

async fn create(client: &Client, request: &Value) -> Answer {
    client.post(RESPONSES, request.to_string()).await
}

/// Creates a response that must succeed.
async fn created(client: &Client, request: &Value) -> Value {
    let answer = create(client, request).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

/// Sends a request with headers.
async fn create_with(client: &Client, request: &Value, headers: &[(&str, &str)]) -> Answer {
    let headers: Vec<_> = [("content-type", "application/json")].iter().chain(headers).copied().collect();
    client.raw(Method::POST, RESPONSES, &headers, request.to_string().into_bytes()).await
}

fn id(response: &Value) -> &str {
    response["id"].as_str().expect("an id")
}

fn path(response: &Value) -> String {
    format!("{RESPONSES}/{}", id(response))
}

/// The text of a response.
fn text(response: &Value) -> String {
    let items = response["output"].as_array().unwrap().iter();
    let parts = items.filter_map(|item| item["content"].as_array()).flatten();
    parts.map(|part| part["text"].as_str().unwrap()).collect()
}

/// The error of a refused request, as (status, param, code).
fn error(answer: &Answer) -> (u16, String, String) {
    let body = answer.json();
    let error = &body["error"];
    assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()), "{body}");
    assert!(error["type"].is_string(), "{body}");
    let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
    (answer.status, text("param"), text("code"))
}

/// Reads the events of a stream. Each names its type twice, and the numbers ascend.
fn events(stream: &str) -> Vec<Value> {
    let blocks = stream.split("\n\n").map(|block| {
        let lines = block.lines().filter(|line| *line != ":");
        lines.collect::<Vec<_>>()
    });
    let mut events: Vec<Value> = Vec::new();
    for block in blocks.filter(|block| !block.is_empty()) {
        let [kind, data] = block.as_slice() else { panic!("not an event: {block:?}") };
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").expect("data")).expect("JSON");
        assert_eq!(kind.strip_prefix("event: "), data["type"].as_str());
        if let Some(before) = events.last() {
            assert!(number(before) < number(&data), "{before} {data}");
        }
        events.push(data);
    }
    events
}

fn number(event: &Value) -> u64 {
    event["sequence_number"].as_u64().expect("a number")
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap().trim_start_matches("response.")).collect()
}

/// The text of the deltas of an output item.
fn streamed(events: &[Value], index: u64) -> String {
    let deltas = events.iter().filter(|event| event["type"] == "response.output_text.delta");
    let of_item = deltas.filter(|event| event["output_index"] == index);
    of_item.map(|event| event["delta"].as_str().unwrap()).collect()
}

/// A function of the caller.
fn weather() -> Value {
    json!({
        "type": "function", "name": "get_weather", "description": "Returns the weather of a city.", "strict": true,
        "parameters": {
            "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
            "additionalProperties": false,
        },
    })
}

/// A request whose answer needs the weather.
fn asking_for_weather() -> Value {
    let script =
        "[[script: say \"Let me look.\"; call get_weather {\"city\":\"Bern\"}; then; say \"It is sunny.\"]]";
    with(request(&format!("What is the weather? {script}")), &json!({"tools": [weather()]}))
}

#[tokio::test]
async fn openai_api_can_be_off() {
    let mut options = options();
    options.environment.insert("OPENAI_COMPATIBLE_API".to_owned(), "false".to_owned());
    let system = System::with(options).await;
    let ada = system.client("acme", "ada");
    for answer in [create(&ada, &request("Hi")).await, ada.get("/v1/models").await] {
        assert_eq!((answer.status, answer.error().as_str()), (404, "RouteNotFound"));
    }
    assert!(system.model_calls().is_empty());
}

/// Clients of others, unmodified. Skipped where they are not installed: `scripts/openai-clients` installs them and runs
/// this.
#[tokio::test]
async fn openai_clients_work_unmodified() {
    let Some(folder) = std::env::var_os("OPENAI_CLIENTS").map(PathBuf::from) else {
        println!("skipped: OPENAI_CLIENTS is not set; run scripts/openai-clients");
        return;
    };
    let clients = std::env::var("OPENAI_CLIENTS_RUN").unwrap_or_default();
    let scripts = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/behaviour/clients"));
    let system = System::start().await;
    let users = [system.client("acme", "ada"), editor(&system, "acme")];
    for client in clients.split(',') {
        let needs_editor = client == "openai-vector-stores";
        if needs_editor {
            system.cloud.qdrant().await.unwrap();
        }
        let (base, headers) = users[usize::from(needs_editor)].request_parts("/v1");
        let token = headers[0].1.trim_start_matches("Bearer ").to_owned();
        let (program, installed, script) = match client {
            "openai-python" => ("python/bin/python", None, "openai_client.py"),
            "openai-vector-stores" => ("python/bin/python", None, "openai_vector_stores_client.py"),
            "openai-agents" => ("python/bin/python", None, "openai_agents_client.py"),
            "langchain-openai" => ("python/bin/python", None, "langchain_client.py"),
            "openai-seeds" | "openai-seeds-killed" => ("python/bin/python", None, "openai_seeds_client.py"),
            "openai-javascript" => ("node", Some("javascript"), "openai-client.mjs"),
            "ai-sdk" => ("node", Some("javascript"), "ai-sdk-client.mjs"),
            "open-responses" => ("node", Some("javascript"), "open-responses.mjs"),
            "openai-browsers" => ("node", Some("browsers"), "openai-browsers.mjs"),
            "librechat" => ("node", Some("librechat"), "librechat-client.mjs"),
            "open-webui" => ("open-webui/bin/python", None, "open_webui_client.py"),
            "async-openai" => ("rust/target/debug/async-openai-client", None, "async-openai"),
            other => panic!("unknown client {other:?}"),
        };
        let mut script = scripts.join(script);
        if let Some(installed) = installed {
            // A module finds its packages beside it.
            let beside = folder.join(installed).join(script.file_name().unwrap());
            std::fs::copy(&script, &beside).unwrap();
            script = beside;
        }
        let program = if installed.is_some() { PathBuf::from(program) } else { folder.join(program) };
        let mut command = Command::new(program);
        command.arg(script);
        let (count, before) = (folder.join("model-calls"), system.model_calls().len());
        std::fs::remove_file(&count).ok();
        command.env("OPENAI_MODEL_CALLS", &count);
        if client == "openai-seeds-killed" {
            under_kills(command, &count).await;
            continue;
        }
        let status = command.env("OPENAI_BASE", &base).env("OPENAI_KEY", &token).status().await.unwrap();
        assert!(status.success(), "{client}");
        if let Ok(expected) = std::fs::read_to_string(&count) {
            assert_eq!((system.model_calls().len() - before).to_string(), expected, "retries call no model");
        }
    }
}

/// Runs a client of many turns while processes are killed. An attempt that was killed may have called the model, so each
/// kill allows for one more call of each of the four turns that run at once.
async fn under_kills(mut command: Command, expected: &Path) {
    let sweep = Duration::from_secs(2);
    let system = System::with(Options { lease: Some(LEASE), sweep: Some(sweep), ..options() }).await;
    let (base, headers) = system.client("acme", "ada").request_parts("/v1");
    command.env("OPENAI_BASE", &base).env("OPENAI_KEY", headers[0].1.trim_start_matches("Bearer "));
    let mut running = command.env("OPENAI_KILLS", "1").spawn().unwrap();
    let functions = [Function::Execute, Function::Execute, Function::SessionRead, Function::TurnFinalizer];
    let mut kills = 0;
    let status = loop {
        let pause = Duration::from_millis(1_000 + fastrand::u64(..2_000));
        match tokio::time::timeout(pause, running.wait()).await {
            Ok(status) => break status.unwrap(),
            Err(_) => {
                system.cloud.crash(functions[fastrand::usize(..functions.len())]);
                kills += 1;
            }
        }
    };
    assert!(status.success() && kills > 3, "{status}, {kills} kills");
    let expected: usize = std::fs::read_to_string(expected).unwrap().parse().unwrap();
    let called = system.model_calls().len();
    println!("openai-seeds-killed: {kills} kills, {called} model calls for {expected}");
    assert!(called <= expected + 4 * kills, "{called} model calls for {expected}");
}
