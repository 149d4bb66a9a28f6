//! Calls of tools at an MCP server of the test's own, in both revisions, with the guard and a secret.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test"
)]

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use agent::{
    connection::{ConnectionSecret, ConnectionSecrets, SecretsUnavailable},
    tool::{
        Definition, ExecutedBy,
        remote::{
            CallTerms, CancelSignal, EffectClass, ProgressSink, RemoteCall, RemoteOutcome, RemoteTool,
            RemoteTools,
        },
    },
};
use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use contracts::id::{ConnectionId, OrgId, UserId};
use egress::{Guard, Loopback};
use remote_tools::{AwsAllowance, AwsCredentials, Connections, NoAwsCredentials};
use serde_json::{Value, json};
use tokio::net::TcpListener;

const SECRET: &str = "tk-5eCr3t";

/// A message that the server received.
#[derive(Debug, Clone)]
struct Received {
    headers: HeaderMap,
    body: Value,
}

#[derive(Clone)]
struct Server {
    host: String,
    is_stateless: bool,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Server {
    async fn start(is_stateless: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let server = Self { host, is_stateless, received: Arc::default() };
        let router = Router::new().fallback(answer).with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        server
    }

    fn url(&self) -> String {
        format!("http://{}/mcp", self.host)
    }

    /// The calls of tools that arrived.
    fn calls(&self) -> Vec<Received> {
        let received = self.received.lock().unwrap();
        received.iter().filter(|message| message.body["method"] == "tools/call").cloned().collect()
    }
}

async fn answer(State(server): State<Server>, headers: HeaderMap, body: String) -> Response {
    let body: Value = serde_json::from_str(&body).unwrap_or_default();
    server.received.lock().unwrap().push(Received { headers, body: body.clone() });
    let result =
        |result: Value| Json(json!({ "jsonrpc": "2.0", "id": body["id"], "result": result })).into_response();
    match body["method"].as_str() {
        Some("server/discover") if server.is_stateless => {
            result(json!({ "supportedVersions": ["2026-07-28"] }))
        }
        Some("initialize") => result(json!({ "protocolVersion": "2025-11-25", "capabilities": {} })),
        Some("tools/call") => match body["params"]["name"].as_str() {
            Some("redirect") => {
                (StatusCode::TEMPORARY_REDIRECT, [("location", "http://169.254.169.254/")]).into_response()
            }
            Some("fail") => result(json!({
                "resultType": "complete", "content": [{ "type": "text", "text": "no such project" }], "isError": true,
            })),
            Some("refuse") => {
                let error = json!({ "code": -32602, "message": format!("unknown tool of {SECRET}") });
                Json(json!({ "jsonrpc": "2.0", "id": body["id"], "error": error })).into_response()
            }
            _ => {
                let text = format!("filed with {SECRET}");
                result(json!({ "resultType": "complete", "content": [{ "type": "text", "text": text }] }))
            }
        },
        Some(method) if method.starts_with("notifications/") => StatusCode::ACCEPTED.into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

/// The secret of every connection, for one host.
#[derive(Clone)]
struct Secrets(String);

impl ConnectionSecrets for Secrets {
    async fn secret(
        &self,
        _org: &OrgId,
        _connection: &ConnectionId,
        _is_current: bool,
    ) -> Result<Option<ConnectionSecret>, SecretsUnavailable> {
        Ok(Some(ConnectionSecret { host: self.0.clone(), value: SECRET.to_owned() }))
    }

    async fn set_secret(
        &self,
        _org: &OrgId,
        _connection: &ConnectionId,
        _secret: &ConnectionSecret,
    ) -> Result<(), SecretsUnavailable> {
        Ok(())
    }
}

/// No AWS credentials.
#[derive(Clone)]
struct NoCredentials;

impl AwsCredentials for NoCredentials {
    async fn credentials(&self) -> Result<sigv4::Credentials, NoAwsCredentials> {
        Err(NoAwsCredentials("none".into()))
    }
}

fn local() -> Guard {
    Guard::new(Loopback::ExceptPorts(Vec::new()), Vec::new())
}

/// Calls a tool of the server.
async fn call(server: &Server, guard: Guard, name: &str, may_send: bool) -> RemoteOutcome {
    let parameters = json!({ "type": "object", "properties": {
        "region": { "type": "string", "x-mcp-header": "Region" },
    } });
    let tool = RemoteTool {
        definition: Definition {
            name: format!("tickets__{name}"),
            description: "d".to_owned(),
            parameters,
            usage: None,
            executed_by: ExecutedBy::Server,
            strict: false,
        },
        connection: "tickets".to_owned(),
        revision: 1,
        class: EffectClass::Effect,
        terms: CallTerms::default(),
        target: json!({
            "Protocol": "mcp", "Url": server.url(), "Authentication": { "Scheme": "bearer" },
            "TimeoutSeconds": 60, "Name": name,
        }),
    };
    let arguments = json!({ "region": "eu" });
    let call = RemoteCall {
        org: &OrgId::new("acme").unwrap(),
        user: &UserId::new("ada").unwrap(),
        token: None,
        tool: &tool,
        arguments: &arguments,
        key: "KEY",
        timeout: Duration::from_secs(60),
        progress: ProgressSink::default(),
        cancel: CancelSignal::default(),
    };
    Connections::new(guard, Secrets(server.host.clone()), NoCredentials, AwsAllowance::default())
        .call(call, &|| may_send)
        .await
}

#[tokio::test]
async fn call_arrives_once_in_both_revisions() {
    for is_stateless in [true, false] {
        let server = Server::start(is_stateless).await;
        let outcome = call(&server, local(), "file", true).await;
        let RemoteOutcome::Done(success) = outcome else { panic!("{outcome:?}") };
        assert_eq!(success.result, json!({ "text": "filed with [secret]" }));
        let calls = server.calls();
        let [arrived] = calls.as_slice() else { panic!("{calls:?}") };
        assert_eq!(arrived.headers["authorization"], format!("Bearer {SECRET}"));
        assert_eq!(arrived.headers.contains_key("mcp-param-region"), is_stateless);
        assert_eq!(arrived.body["params"]["_meta"]["aptix/idempotencyKey"], "KEY");
        assert_eq!(arrived.body["params"]["arguments"], json!({ "region": "eu" }));
    }
}

#[tokio::test]
async fn call_that_the_turn_may_not_send_never_arrives() {
    for is_stateless in [true, false] {
        let server = Server::start(is_stateless).await;
        let outcome = call(&server, local(), "file", false).await;
        assert!(matches!(outcome, RemoteOutcome::NotSent(_)), "{outcome:?}");
        assert!(server.calls().is_empty());
    }
}

#[tokio::test]
async fn failures_have_their_outcome_and_show_no_secret() {
    let server = Server::start(true).await;
    let failed = call(&server, local(), "fail", true).await;
    let RemoteOutcome::Done(success) = failed else { panic!("{failed:?}") };
    assert_eq!(success.result, json!({ "text": "no such project", "isError": true }));
    let refused = call(&server, local(), "refuse", true).await;
    let RemoteOutcome::Refused(text) = refused else { panic!("{refused:?}") };
    assert_eq!(text, "The server refused the call with code -32602: unknown tool of [secret]");
    let redirected = call(&server, local(), "redirect", true).await;
    assert!(matches!(redirected, RemoteOutcome::Refused(_)), "{redirected:?}");
    assert_eq!(server.calls().len(), 3);
}

#[tokio::test]
async fn forbidden_address_gets_no_request() {
    let server = Server::start(true).await;
    let port = server.host.rsplit(':').next().unwrap().parse().unwrap();
    for loopback in [Loopback::Forbidden, Loopback::ExceptPorts(vec![port])] {
        let outcome = call(&server, Guard::new(loopback, Vec::new()), "file", true).await;
        assert!(matches!(outcome, RemoteOutcome::NotSent(_)), "{outcome:?}");
    }
    assert!(server.received.lock().unwrap().is_empty());
}
