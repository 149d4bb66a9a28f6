//! `events`: what a function gets in each scenario, as the running system hands it over. This writes the files anew:
//!
//! ```sh
//! WRITE_EVENTS=1 cargo test --locked -p aptix --test behaviour sample_events
//! ```

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use contracts::paths::{EXECUTE, SESSIONS, TOOL_RESULTS};
use local::Options;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Client, PATIENCE, System, options};

const COMMAND: &str = "WRITE_EVENTS=1 cargo test --locked -p aptix --test behaviour sample_events";
/// Everything that is told of a request has this name, so that the same scenario is the same event.
const CORRELATION: &str = "sample";
/// The trace of every message that a function sends.
const TRACEPARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

const PLAIN: &str = r#"{"SessionId": "3f9c2b7ae1d84c6f9a5b0e6d7c8f1a23", "TurnId": "a1b2c3d4e5f60718293a4b5c6d7e8f90", "Instruction": "What does this function return for an empty list?", "InputArtifacts": [{"RelativePath": "src/total.rs", "FileName": "total.rs", "Contents": "pub fn total(items: &[u64]) -> u64 {\n    items.iter().sum()\n}\n", "Origin": "ide", "Language": "rust"}], "Language": "rust"}"#;
const STREAMED: &str = r#"{"SessionId": "sample-stream", "TurnId": "turn-1", "Instruction": "Count to twenty. [[script: pace 20ms; words 20]]", "Streaming": true}"#;
/// Call ids follow from the turn and the place of the call, so the results below fit them wherever they are sent.
const CLIENT_TOOLS: &str = r#"{"SessionId": "sample-client-tools", "TurnId": "turn-1", "AgentContextId": "workspace", "Instruction": "Compare a.rs and b.rs. [[script: call workspace_read_file {\"path\":\"a.rs\"}; call workspace_read_file {\"path\":\"b.rs\"}; then; say \"They are alike.\"]]"}"#;
const FITTING: &str = r#"{"SessionId": "sample-client-tools", "TurnId": "turn-1", "ToolResults": [{"ToolCallId": "bca6322ae", "ExecutionMs": 42, "ResultJson": "\"fn a() {}\""}, {"ToolCallId": "216e15ec6", "ExecutionMs": 7, "ErrorMessage": "The file is not there."}]}"#;
/// Results for calls that nobody made: they are refused.
const REFUSED: &str = r#"{"SessionId": "3f9c2b7ae1d84c6f9a5b0e6d7c8f1a23", "TurnId": "a1b2c3d4e5f60718293a4b5c6d7e8f90", "ToolResults": [{"ToolCallId": "call_1", "ExecutionMs": 42, "ResultJson": "{\"files\":[\"src/total.rs\"]}"}, {"ToolCallId": "call_2", "ExecutionMs": 7, "ErrorMessage": "The file is not there."}]}"#;
const TO_CANCEL: &str = r#"{"SessionId": "sample-cancel", "TurnId": "turn-1", "AgentContextId": "workspace", "Instruction": "Read a.rs. [[script: call workspace_read_file {\"path\":\"a.rs\"}; then; say \"Never said.\"]]"}"#;

const FIRST_SESSION: &str = "/api/ai/agent/sessions/3f9c2b7ae1d84c6f9a5b0e6d7c8f1a23";
const FIRST_TURN: &str =
    "/api/ai/agent/sessions/3f9c2b7ae1d84c6f9a5b0e6d7c8f1a23/turns/a1b2c3d4e5f60718293a4b5c6d7e8f90";

/// A message of the finalize queue about a turn of acme.
fn settled(session: &str, turn: &str) -> String {
    let (org, correlation) = ("acme", CORRELATION);
    format!(
        r#"{{"Kind":"turn_settled","Org":"{org}","Session":"{session}","Turn":"{turn}","Correlation":"{correlation}"}}"#
    )
}

/// A running system that keeps every event.
struct Recorded {
    system: System,
    ada: Client,
    folder: tempfile::TempDir,
    events: BTreeMap<&'static str, Value>,
}

impl Recorded {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let system =
            System::with(Options { event_folder: Some(folder.path().to_owned()), ..options() }).await;
        let ada = system.client("acme", "ada");
        Self { system, ada, folder, events: BTreeMap::new() }
    }

    /// Sends a request and keeps the event that a function got of it.
    async fn send(
        &mut self,
        name: &'static str,
        (method, path): (Method, &str),
        body: Option<&str>,
    ) -> Value {
        let mut headers = vec![("accept", "application/json"), ("x-correlation-id", CORRELATION)];
        headers.extend(body.map(|_| ("content-type", "application/json")));
        let body = body.unwrap_or_default().as_bytes().to_vec();
        let answer = self.ada.raw(method, path, &headers, body).await;
        let (_, last) = self.kept().pop().unwrap();
        self.events.insert(name, last);
        serde_json::from_str(&answer.text).unwrap_or_default()
    }

    /// Lets `turn-finalizer` have what is in the queue, and keeps the one event that it gets.
    async fn finalize(&mut self, name: &'static str) {
        let of_finalizer = |(file, _): &(String, Value)| file.contains("turn-finalizer");
        let before = self.kept().iter().filter(|event| of_finalizer(event)).count();
        self.system.cloud.resume_finalizer().await;
        let until = Instant::now() + PATIENCE;
        let event = loop {
            let mut events: Vec<_> = self.kept().into_iter().filter(of_finalizer).collect();
            if events.len() > before {
                break events.swap_remove(before).1;
            }
            assert!(Instant::now() < until, "{name}: no message came");
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        self.system.cloud.pause_finalizer().await;
        self.events.insert(name, event);
    }

    /// Every event so far, the first one first. One that is being written is none yet.
    fn kept(&self) -> Vec<(String, Value)> {
        let files = std::fs::read_dir(self.folder.path()).unwrap().map(|file| file.unwrap().path());
        let sorted: BTreeSet<_> = files.collect();
        sorted
            .iter()
            .filter_map(|file| {
                let event = serde_json::from_str(&std::fs::read_to_string(file).ok()?).ok()?;
                Some((file.file_name()?.to_str()?.to_owned(), event))
            })
            .collect()
    }

    async fn until_visible(&self, count: usize) {
        self.system.until_visible(&self.system.cloud.endpoints().finalize_queue, count).await;
    }

    async fn announce(&self, body: &str) {
        let queue = &self.system.cloud.endpoints().finalize_queue;
        self.system.cloud.sqs().send_message().queue_url(queue).message_body(body).send().await.unwrap();
    }
}

/// Every scenario, and the event of each.
async fn scenarios() -> BTreeMap<&'static str, Value> {
    let mut of = Recorded::start().await;
    of.system.cloud.pause_finalizer().await;
    let post = |path| (Method::POST, path);
    of.send("execute.json", post(EXECUTE), Some(PLAIN)).await;
    of.finalize("turn-finalizer.json").await;
    of.send("execute-stream.json", post(EXECUTE), Some(STREAMED)).await;
    // The function's own announcement is the first of the batch.
    of.until_visible(1).await;
    of.announce(&settled("sample-stream", "turn-1")).await;
    of.announce(r#"{"Kind":"of_nobody"}"#).await;
    of.until_visible(3).await;
    of.finalize("turn-finalizer-batch.json").await;
    of.system.cloud.sweep().await.unwrap();
    of.finalize("turn-finalizer-sweep.json").await;

    let suspended = of.send("execute-client-tools.json", post(EXECUTE), Some(CLIENT_TOOLS)).await;
    assert_eq!(suspended["Result"]["Kind"], "client_tool_continuation");
    let answered = of.send("tool-continuation-client-tools.json", post(TOOL_RESULTS), Some(FITTING)).await;
    assert_eq!(answered["Result"]["PrimaryOutputText"], "They are alike.");
    let refused = of.send("tool-continuation.json", post(TOOL_RESULTS), Some(REFUSED)).await;
    assert_eq!(refused["Successful"], false);
    of.send("execute-to-cancel.json", post(EXECUTE), Some(TO_CANCEL)).await;
    let cancel = "/api/ai/agent/sessions/sample-cancel/turns/turn-1/cancel";
    let cancelled = of.send("execute-cancel.json", post(cancel), None).await;
    assert_eq!(cancelled["Successful"], true, "{cancelled}");

    for (name, path) in [
        ("session-read.json", FIRST_SESSION.to_owned()),
        ("session-read-list.json", format!("{SESSIONS}?pageSize=10")),
        ("session-read-turn.json", FIRST_TURN.to_owned()),
        ("session-read-stream.json", format!("{FIRST_TURN}/stream")),
        ("session-read-payload.json", format!("{FIRST_TURN}/payloads/instruction")),
    ] {
        of.send(name, (Method::GET, &path), None).await;
    }
    let port = of.system.cloud.url().rsplit(':').next().unwrap().to_owned();
    of.events.into_iter().map(|(name, event)| (name, timeless(event, &port))).collect()
}

/// The event without what is another each time.
fn timeless(mut event: Value, port: &str) -> Value {
    const ID: &str = "11111111-1111-4111-8111-111111111111";
    for (pointer, value) in [
        ("/headers/authorization", json!("Bearer token")),
        ("/multiValueHeaders/authorization", json!(["Bearer token"])),
        ("/requestContext/authorizer/claims/iat", json!("1767225600")),
        ("/requestContext/authorizer/claims/exp", json!("1767268800")),
        ("/requestContext/requestId", json!(ID)),
        ("/requestContext/extendedRequestId", json!(ID)),
        ("/requestContext/requestTimeEpoch", json!(1_767_225_660_000_u64)),
    ] {
        if let Some(there) = event.pointer_mut(pointer) {
            *there = value;
        }
    }
    let records = event.get_mut("Records").and_then(Value::as_array_mut);
    for (number, record) in records.into_iter().flatten().enumerate() {
        record["messageId"] = json!(format!("00000000-0000-4000-8000-{number:012}"));
        record["receiptHandle"] = json!(format!("receipt-{number}"));
        if let Some(traceparent) = record.pointer_mut("/messageAttributes/traceparent/stringValue") {
            *traceparent = json!(TRACEPARENT);
        }
        record["attributes"]["SentTimestamp"] = json!("1767225660500");
        record["attributes"]["ApproximateFirstReceiveTimestamp"] = json!("1767225661500");
    }
    with_port(&mut event, port);
    event
}

/// The same with the port that the local cloud has as a rule.
fn with_port(value: &mut Value, port: &str) {
    match value {
        Value::String(text) if text == port => "9000".clone_into(text),
        Value::String(text) => *text = text.replace(&format!("127.0.0.1:{port}"), "127.0.0.1:9000"),
        Value::Array(all) => all.iter_mut().for_each(|one| with_port(one, port)),
        Value::Object(members) => members.values_mut().for_each(|one| with_port(one, port)),
        _ => {}
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../events")
}

#[tokio::test]
async fn sample_events_match_what_functions_receive() {
    let scenarios = scenarios().await;
    if std::env::var_os("WRITE_EVENTS").is_some() {
        for (name, event) in &scenarios {
            std::fs::write(folder().join(name), format!("{event:#}\n")).unwrap();
        }
    }
    for (name, event) in &scenarios {
        let file = std::fs::read_to_string(folder().join(name)).unwrap_or_default();
        let file: Value = serde_json::from_str(&file).unwrap_or_default();
        assert!(file == *event, "events/{name} is stale. Write it anew: {COMMAND}");
    }
    let files = std::fs::read_dir(folder()).unwrap();
    let files: BTreeSet<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(files, scenarios.keys().map(|name| (*name).to_owned()).collect(), "events of no scenario");
}
