//! A server of the Model Context Protocol under `/v1/mcp`, in both of its eras.

mod requests;
mod resources;
mod tools;

use std::path::PathBuf;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::support::{Answer, Client, System};

const MCP: &str = "/v1/mcp";
const NEWEST: &str = "2026-07-28";

/// The era in which a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    Handshake,
    PerRequest,
}

const ERAS: [Era; 2] = [Era::Handshake, Era::PerRequest];

/// A request with the members that each one of the era has.
fn request(era: Era, method: &str, params: &Value) -> Value {
    let mut params = params.clone();
    if era == Era::PerRequest {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = NEWEST.into();
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    }
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// Sends a body with the headers of its era.
async fn post(client: &Client, era: Era, more: &[(&str, &str)], body: &Value) -> Answer {
    let mut headers =
        vec![("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    match era {
        Era::Handshake => headers.push(("mcp-protocol-version", "2025-11-25")),
        Era::PerRequest => {
            headers.push(("mcp-protocol-version", NEWEST));
            headers.push(("mcp-method", body["method"].as_str().unwrap_or_default()));
            let name = body["params"]["name"].as_str().or_else(|| body["params"]["uri"].as_str());
            headers.extend(name.map(|name| ("mcp-name", name)));
        }
    }
    headers.extend(more);
    client.raw(Method::POST, MCP, &headers, body.to_string().into_bytes()).await
}

/// Lists the caller's sessions.
pub(crate) async fn list_sessions(client: &Client) -> Value {
    result(client, Era::PerRequest, "resources/list", json!({})).await
}

/// Sends a request, and returns its result.
async fn result(client: &Client, era: Era, method: &str, params: Value) -> Value {
    let answer = post(client, era, &[], &request(era, method, &params)).await;
    let body = answer.json();
    assert_eq!((answer.status, &body["jsonrpc"], &body["id"]), (200, &json!("2.0"), &json!(1)), "{body}");
    assert!(body["result"].is_object(), "{body}");
    assert_eq!(body["result"].get("resultType").is_some(), era == Era::PerRequest, "{body}");
    body["result"].clone()
}

/// Sends a request that is refused, and returns its error as (status, code, message).
async fn error(client: &Client, era: Era, method: &str, params: Value) -> (u16, i64, String) {
    error_of(&post(client, era, &[], &request(era, method, &params)).await)
}

fn error_of(answer: &Answer) -> (u16, i64, String) {
    let error = &answer.json()["error"];
    let (code, message) = (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap());
    (answer.status, code, message.to_owned())
}

fn message(text: &str) -> Value {
    json!({"name": "default", "arguments": {"message": text}})
}

fn in_session(session: &Value, text: &str) -> Value {
    json!({"name": "default", "arguments": {"message": text, "session": session}})
}

/// Calls a tool whose turn has an answer, and returns the structured content.
async fn answered(client: &Client, era: Era, params: Value) -> Value {
    let result = result(client, era, "tools/call", params).await;
    assert_eq!(result["isError"], false, "{result}");
    let structured = result["structuredContent"].clone();
    assert_eq!(result["content"][0], json!({"type": "text", "text": structured["answer"]}));
    structured
}

/// Calls a tool whose result is an error, and returns the text.
async fn failed(client: &Client, era: Era, params: Value) -> String {
    let result = result(client, era, "tools/call", params).await;
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// Reads a resource, and returns its text.
async fn read(client: &Client, era: Era, uri: &str) -> String {
    let result = result(client, era, "resources/read", json!({"uri": uri})).await;
    assert_eq!(result["contents"][0]["uri"], uri);
    result["contents"][0]["text"].as_str().unwrap().to_owned()
}

fn uri(call: &Value) -> String {
    format!("aptix://sessions/{}", call["session"].as_str().unwrap())
}

fn turn_uri(call: &Value) -> String {
    format!("{}/turns/{}", uri(call), call["turn"].as_str().unwrap())
}

#[tokio::test]
async fn agent_is_a_tool_and_its_sessions_are_resources() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let own =
        json!([{"Kind": "agent", "Id": "engineer", "Name": "The Engineer", "Description": "Writes code."}]);
    system.put_contexts("acme", &own).await;
    for era in ERAS {
        let listed = result(&ada, era, "tools/list", json!({})).await;
        let tools: Vec<(&Value, &Value)> =
            listed["tools"].as_array().unwrap().iter().map(|tool| (&tool["name"], &tool["title"])).collect();
        let names = [("default", "Default"), ("engineer", "The Engineer"), ("workspace", "Workspace")];
        assert_eq!(
            tools,
            names.map(|(name, title)| (json!(name), json!(title))).each_ref().map(|(a, b)| (a, b))
        );
        let described = listed["tools"][1]["description"].as_str().unwrap();
        assert!(described.starts_with("Writes code.\n\nSends a message"), "{described}");
        let schema = &listed["tools"][1]["inputSchema"];
        assert_eq!(
            (&schema["required"], &schema["additionalProperties"]),
            (&json!(["message"]), &json!(false))
        );

        let call = json!({"name": "engineer", "arguments": {"message": "Hi [[script: say \"Hello.\"]]"}});
        let first = answered(&ada, era, call).await;
        assert_eq!(first["answer"], "Hello.");
        let more = json!({"name": "engineer", "arguments": {
            "message": "More [[script: say \"Again.\"]]", "session": first["session"],
        }});
        let second = answered(&ada, era, more).await;
        assert_eq!((&second["session"], &second["answer"]), (&first["session"], &json!("Again.")));
        assert_ne!(second["turn"], first["turn"]);

        let sessions = result(&ada, era, "resources/list", json!({})).await;
        assert_eq!(sessions["resources"][0]["uri"], uri(&first));
        let session: Value = serde_json::from_str(&read(&ada, era, &uri(&first)).await).unwrap();
        assert_eq!(
            (&session["AgentContextId"], &session["Turns"][0]["Id"]),
            (&json!("engineer"), &second["turn"])
        );
        let turn: Value = serde_json::from_str(&read(&ada, era, &turn_uri(&first)).await).unwrap();
        assert_eq!((&turn["Id"], &turn["Status"]["Id"]), (&first["turn"], &json!("completed")));
        assert_eq!(read(&ada, era, &format!("{}/answer", turn_uri(&second))).await, "Again.");
    }
}

#[tokio::test]
async fn each_era_has_its_beginning() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    for (wanted, version) in
        [("2025-11-25", "2025-11-25"), ("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25")]
    {
        let params = json!({"protocolVersion": wanted, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let answer = post(&ada, Era::Handshake, &[], &request(Era::Handshake, "initialize", &params)).await;
        let begun = answer.json();
        assert_eq!(begun["result"]["protocolVersion"], version, "{begun}");
        assert_eq!(begun["result"]["capabilities"], json!({"tools": {}, "resources": {}}));
        let session = answer.header("mcp-session-id").unwrap();
        // A client in a page reads it too.
        assert!(answer.header("access-control-expose-headers").unwrap().contains("Mcp-Session-Id"));
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let accepted = post(&ada, Era::Handshake, &[("mcp-session-id", session)], &initialized).await;
        assert_eq!((accepted.status, accepted.text.as_str()), (202, ""));
    }
    assert_eq!(result(&ada, Era::Handshake, "ping", json!({})).await, json!({}));
    let found = result(&ada, Era::PerRequest, "server/discover", json!({})).await;
    assert_eq!(found["supportedVersions"], json!([NEWEST, "2025-11-25", "2025-06-18"]));
    assert_eq!(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "aptix");
    for method in ["initialize", "ping", "prompts/list", "resources/subscribe"] {
        assert_eq!(error(&ada, Era::PerRequest, method, json!({})).await.0, 404, "{method}");
    }
    for method in ["server/discover", "prompts/list", "logging/setLevel"] {
        let (status, code, _) = error(&ada, Era::Handshake, method, json!({})).await;
        assert_eq!((status, code), (200, -32601), "404 would end the client's session");
    }
}

#[tokio::test]
async fn pages_of_tools_have_every_agent_once() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let agents: Vec<Value> = (0..101)
        .map(|n| json!({"Kind": "agent", "Id": format!("a{n:03}"), "Name": format!("Agent {n}")}))
        .collect();
    system.put_contexts("acme", &agents.into()).await;
    let first = result(&ada, Era::PerRequest, "tools/list", json!({})).await;
    let cursor = &first["nextCursor"];
    let second = result(&ada, Era::PerRequest, "tools/list", json!({"cursor": cursor})).await;
    assert_eq!(second.get("nextCursor"), None);
    let pages = [first["tools"].as_array().unwrap(), second["tools"].as_array().unwrap()];
    assert_eq!(pages.map(Vec::len), [100, 3]);
    assert_eq!((&pages[1][0]["name"], &pages[1][1]["name"]), (&json!("a100"), &json!("default")));
    let eve = system.client("acme", "eve");
    for (client, cursor) in [(&eve, cursor), (&ada, &json!("x"))] {
        assert_eq!(error(client, Era::PerRequest, "tools/list", json!({"cursor": cursor})).await.1, -32602);
    }
}

/// Clients of others, unmodified, and the conformance suite. Skipped where they are not installed: `scripts/mcp-clients`
/// installs them and runs this.
#[tokio::test]
async fn mcp_clients_work_unmodified() {
    let Some(folder) = std::env::var_os("MCP_CLIENTS").map(PathBuf::from) else {
        println!("skipped: MCP_CLIENTS is not set; run scripts/mcp-clients");
        return;
    };
    let scripts = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/behaviour/clients"));
    for client in std::env::var("MCP_CLIENTS_RUN").unwrap_or_default().split(',') {
        let (program, script) = match client {
            "mcp-python" => (folder.join("python/bin/python"), "mcp_client.py"),
            "mcp-typescript" => (folder.join("javascript/node_modules/node/bin/node"), "mcp-client.mjs"),
            "mcp-inspector" => (PathBuf::from("bash"), "mcp-inspector.sh"),
            "mcp-conformance" => (PathBuf::from("bash"), "mcp-conformance.sh"),
            other => panic!("unknown client {other:?}"),
        };
        let mut script = scripts.join(script);
        if client == "mcp-typescript" {
            // A module finds its packages beside it.
            let beside = folder.join("javascript").join(script.file_name().unwrap());
            std::fs::copy(&script, &beside).unwrap();
            script = beside;
        }
        let system = System::start().await;
        if client == "mcp-conformance" {
            // Tools of the suite that agents can stand for, since their calls have no arguments: an error suffices.
            let fixtures = ["test_error_handling", "test_logging_tool", "test_streaming_elicitation"];
            let fixtures = fixtures.map(|id| json!({"Kind": "agent", "Id": id, "Name": id}));
            system.put_contexts("acme", &json!(fixtures)).await;
        }
        let ada = system.client("acme", "ada");
        let (url, headers) = ada.request_parts(MCP);
        let mut command = Command::new(program);
        command.arg(script).env("MCP_CLIENTS", &folder).env("MCP_URL", url);
        command.env("MCP_TOKEN", headers[0].1.trim_start_matches("Bearer "));
        let status = command.status().await.unwrap();
        assert!(status.success(), "{client}");
    }
}
