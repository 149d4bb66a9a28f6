//! Clients of other makes, unmodified, read our streams. Skipped where they are not installed:
//! `scripts/stream-clients` installs them and runs this.

use std::{path::PathBuf, process::Stdio};

use contracts::paths;
use local::{Function, Options};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

use crate::support::{Client, Event, LEASE, System, answer_text, final_text_and_result, options, turn};

/// The folder in which the clients are installed.
fn installed() -> Option<PathBuf> {
    let folder = std::env::var_os("STREAM_CLIENTS").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: STREAM_CLIENTS is not set; run scripts/stream-clients");
    }
    folder
}

/// A client that runs.
struct Running {
    lines: Lines<BufReader<ChildStdout>>,
    _process: Child,
}

impl Running {
    async fn start(folder: &std::path::Path, script: &str, client: &Client, turn: &Value) -> Self {
        let script =
            PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/behaviour/clients")).join(script);
        let mut command = if script.extension().is_some_and(|kind| kind == "py") {
            let mut command = Command::new(folder.join("python/bin/python"));
            command.arg(&script);
            command
        } else {
            let mut command = Command::new("node");
            command.arg(&script).arg(folder);
            command
        };
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let mut turn = turn.clone();
        turn["Streaming"] = json!(true);
        let (url, headers) = client.request_parts(paths::EXECUTE);
        let mut headers: serde_json::Map<String, Value> =
            headers.into_iter().map(|(name, value)| (name, value.into())).collect();
        headers.insert("content-type".to_owned(), "application/json".into());
        let request = json!({"url": url, "method": "POST", "headers": headers, "body": turn.to_string()});
        let mut stdin = process.stdin.take().unwrap();
        stdin.write_all(request.to_string().as_bytes()).await.unwrap();
        drop(stdin);
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { lines, _process: process }
    }

    async fn next(&mut self) -> Option<Event> {
        let (line, event) = loop {
            let line = self.lines.next_line().await.unwrap()?;
            let event: Value = serde_json::from_str(&line).unwrap();
            // It has no id of its own.
            if event["event"] != "status" {
                break (line, event);
            }
        };
        let text = |name: &str| event[name].as_str().unwrap_or_else(|| panic!("{line}")).to_owned();
        Some(Event { id: text("id").parse().unwrap(), kind: text("event"), data: text("data") })
    }

    async fn rest(mut self) -> Vec<Event> {
        let mut all = Vec::new();
        while let Some(event) = self.next().await {
            all.push(event);
        }
        all
    }
}

const CLIENTS: [&str; 4] =
    ["eventsource-client.mjs", "fetch-event-source.mjs", "httpx_sse_client.py", "sseclient_py_client.py"];

#[tokio::test]
async fn third_party_clients_read_every_event() {
    let Some(folder) = installed() else { return };
    // Heartbeats between the events, too.
    let mut options = options();
    options.environment.insert("STREAM_HEARTBEAT_SECONDS".to_owned(), "0.01".to_owned());
    let system = System::with(options).await;
    let ada = system.client("acme", "ada");
    for script in CLIENTS {
        let request = turn(
            "Look [[script: say \"Let me look.\"; call agent_list_modes {}; then; pace 30ms; say \"Ünï🦀 \"; words 30]]",
        );
        let events = Running::start(&folder, script, &ada, &request).await.rest().await;
        let (text, result) = final_text_and_result(&events);
        assert_eq!(text, answer_text(&result), "{script}");
        assert!(events.iter().any(|event| event.kind == "reset"), "{script}");
        assert_eq!(ada.execute(&request).await.text, result, "{script}");
        println!("{script}: {} events", events.len());
    }
}

#[tokio::test]
async fn third_party_clients_reconnect_when_a_function_dies() {
    let Some(folder) = installed() else { return };
    let system = System::with(Options { lease: Some(LEASE), ..options() }).await;
    let ada = system.client("acme", "ada");
    for script in CLIENTS {
        let request = turn("Write [[script: pace 20ms; words 60]]");
        let mut client = Running::start(&folder, script, &ada, &request).await;
        let mut all = vec![client.next().await.expect("it runs")];
        system.cloud.crash(Function::Execute);
        all.extend(client.rest().await);
        let (text, result) = final_text_and_result(&all);
        assert_eq!(text, answer_text(&result), "{script}");
        println!("{script}: {} events", all.len());
    }
}
