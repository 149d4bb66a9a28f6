//! Connections without a secret of their own: requests that are signed with the deployment's AWS credentials, and requests
//! with the token of the caller.

use std::sync::{Arc, Mutex};

use axum::{
    Router,
    http::{HeaderMap, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use contracts::paths::{AGENTS, CONNECTIONS, connection_secret, tool_trial};
use local::{Data, Options, token::Identity};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

use crate::agents::put;
use crate::client_tools::{results, submit};
use crate::effects::run_with_kill;
use crate::export::operator;
use crate::shop::{Moment, Shop, asks, call, signature};
use crate::support::{Client, LEASE, System, options, reading_tool};

/// A server that returns its requests' `Authorization`, and the paths and headers that it got.
struct Echo {
    url: String,
    received: Arc<Mutex<Vec<(String, HeaderMap)>>>,
    server: JoinHandle<std::io::Result<()>>,
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Echo {
    /// Starts a server. It redirects `/elsewhere` there.
    async fn start(elsewhere: &str) -> Self {
        let received: Arc<Mutex<Vec<(String, HeaderMap)>>> = Arc::default();
        let (log, elsewhere) = (Arc::clone(&received), elsewhere.to_owned());
        let router = Router::new().fallback(async move |uri: Uri, headers: HeaderMap| -> Response {
            let proof = headers.get("authorization").map_or("", |value| value.to_str().unwrap()).to_owned();
            log.lock().unwrap().push((uri.to_string(), headers));
            match uri.path() {
                "/v1/elsewhere" => {
                    (StatusCode::TEMPORARY_REDIRECT, [("location", elsewhere)]).into_response()
                }
                _ => json!({ "proof": proof }).to_string().into_response(),
            }
        });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, received, server }
    }

    fn received(&self) -> Vec<(String, HeaderMap)> {
        self.received.lock().unwrap().clone()
    }

    /// Writes a connection with this authentication, and the agent of the same id that has its tools. Processes keep documents
    /// for a while, so a test doesn't change one.
    async fn open(&self, operator: &Client, id: &str, authentication: Value) {
        let tool = |name: &str, class: &str| {
            json!({
                "Name": name, "Description": "d", "Class": class, "Method": "GET", "Path": format!("/{name}"),
                "Parameters": { "type": "object", "properties": { "q": { "type": "string" } } },
            })
        };
        let connection = json!({
            "Name": "Echo", "Protocol": "http", "Url": format!("{}/v1", self.url),
            "Authentication": authentication,
            "Tools": [tool("read", "read"), tool("act", "effect"), tool("elsewhere", "read")],
        });
        put(operator, &CONNECTIONS.context(id), &connection).await.result();
        let agent = json!({ "Name": "Agent", "Tools": [id], "ClientTools": [reading_tool()] });
        put(operator, &AGENTS.context(id), &agent).await.result();
    }
}

/// Returns a turn of this agent.
fn asks_of(agent: &str, script: &str) -> Value {
    let mut turn = asks(script);
    turn["AgentContextId"] = json!(agent);
    turn
}

fn of_caller(audience: &str) -> Value {
    json!({ "Scheme": "caller", "Audience": audience })
}

/// Returns a client and its token.
fn ada(system: &System) -> (Client, String) {
    let token = system.cloud.token(&Identity::user("acme", "ada")).unwrap();
    (Client::new(system.cloud.url(), Some(token.clone())), token)
}

#[tokio::test]
async fn signed_requests_verify_over_http_and_mcp() {
    for (protocol, is_stateless) in [("http", false), ("mcp", true), ("mcp", false)] {
        let (shop, _kills) = Shop::signed(is_stateless, "bedrock-agentcore").await;
        let system = System::with(shop.allowed(options())).await;
        shop.open(&operator(&system, "acme"), protocol).await;
        let script = format!("{}; {}", call("refund", "a b/ä"), call("status", "1"));
        system.client("acme", "ada").execute(&asks(&script)).await.result();
        let sent = system.last_call().to_string();
        assert!(sent.contains("refunded") && !sent.contains("refused"), "{protocol}: {sent}");
        assert_eq!(shop.performed().len(), 1, "{protocol}");
        assert!(!sent.contains("marker"), "{sent}");
    }
}

#[tokio::test]
async fn signature_covers_the_path_and_the_query_of_arguments() {
    let (shop, _kills) = Shop::signed(false, "execute-api").await;
    let system = System::with(shop.allowed(options())).await;
    let olga = operator(&system, "acme");
    let connection = json!({
        "Name": "Shop", "Protocol": "http", "Url": format!("{}/v1", shop.url),
        "Authentication": signature("execute-api"),
        "Tools": [{
            "Name": "find", "Description": "d", "Class": "read", "Method": "GET", "Path": "/by-key/{key}",
            "Parameters": { "type": "object", "required": ["key"], "properties": {
                "key": { "type": "string" }, "z": { "type": "string" }, "a": { "type": "string" },
            } },
        }],
    });
    put(&olga, &CONNECTIONS.context("shop"), &connection).await.result();
    let arguments = json!({ "key": "a b/%ä", "z": "1 +/&", "a": "é" }).to_string();
    let body = json!({ "Tool": "find", "ArgumentsJson": arguments }).to_string();
    let trial = olga.post(&tool_trial("shop"), body).await.result();
    // The shop has no such key. An invalid signature would be a 403.
    assert!(trial["Message"].as_str().unwrap().contains("status 404"), "{trial}");
}

#[tokio::test]
async fn host_that_the_deployment_does_not_sign_for_is_refused_by_name() {
    let (shop, _kills) = Shop::signed(false, "lambda").await;
    let folder = tempfile::tempdir().unwrap();
    let data = || Options { data: Data::Folder(folder.path().to_owned()), ..options() };
    let system = System::with(shop.allowed(data())).await;
    let olga = operator(&system, "acme");
    shop.open(&olga, "http").await;
    let echo = Echo::start(&shop.url).await;
    let connection = json!({
        "Name": "Echo", "Protocol": "mcp", "Url": format!("{}/mcp", echo.url), "Authentication": signature("lambda"),
    });
    let refused = put(&olga, &CONNECTIONS.context("echo"), &connection).await;
    assert_eq!(refused.status, 400);
    assert!(
        refused.text.contains("Url: is on a host that the deployment signs no requests for"),
        "{}",
        refused.text
    );
    let secret = json!({ "Value": "s" }).to_string();
    let secret = olga.send(Method::PUT, &connection_secret("shop"), Some(secret)).await;
    assert_eq!((secret.status, secret.error().as_str()), (400, "MemberInvalid"));
    system.cloud.shutdown().await;
    // Another deployment of the same data, whose operator allows nothing.
    let system = System::with(data()).await;
    system.client("acme", "ada").execute(&asks(&call("refund", "1"))).await.result();
    let sent = system.last_call().to_string();
    assert!(sent.contains("doesn't sign requests to the host of the connection shop"), "{sent}");
    assert_eq!((shop.performed().len(), echo.received().len()), (0, 0));
}

#[tokio::test]
async fn proofs_do_not_follow_a_redirect() {
    let elsewhere = Echo::start("").await;
    let echo = Echo::start(&format!("{}/v1/read", elsewhere.url)).await;
    let (shop, _kills) = Shop::signed(false, "lambda").await;
    let mut options = shop.allowed(options());
    let host = echo.url.trim_start_matches("http://").to_owned();
    options.environment.insert("CONNECTION_SIGNED_HOSTS".to_owned(), host);
    let system = System::with(options).await;
    let (olga, (ada, _)) = (operator(&system, "acme"), ada(&system));
    for (id, authentication) in [("signed", signature("lambda")), ("passed", of_caller("local-cloud"))] {
        echo.open(&olga, id, authentication).await;
        ada.execute(&asks_of(id, &format!("call {id}__elsewhere {{}}"))).await.result();
        let sent = system.last_call().to_string();
        assert!(sent.contains("The target answered with a redirect (307)"), "{sent}");
    }
    assert_eq!((echo.received().len(), elsewhere.received().len()), (2, 0));
}

#[tokio::test]
async fn schemes_have_their_own_members() {
    let system = System::start().await;
    let olga = operator(&system, "acme");
    for (authentication, wanted) in [
        (
            json!({ "Scheme": "sigv4" }),
            "Authentication.Service: is required for the scheme sigv4, and for no other",
        ),
        (json!({ "Scheme": "sigv4", "Service": "lambda" }), "Authentication.Region: is required"),
        (json!({ "Scheme": "sigv4", "Service": "L", "Region": "r" }), "1 to 64 lowercase letters"),
        (json!({ "Scheme": "caller" }), "Authentication.Audience: is required for the scheme caller"),
        (
            json!({ "Scheme": "bearer", "Audience": "a" }),
            "Authentication.Audience: is required for the scheme caller",
        ),
        (
            json!({ "Scheme": "none", "Region": "r" }),
            "Authentication.Region: is required for the scheme sigv4",
        ),
    ] {
        let connection = json!({ "Name": "A", "Protocol": "http", "Url": "https://example.com", "Authentication": authentication });
        let refused = put(&olga, &CONNECTIONS.context("a"), &connection).await;
        assert_eq!(refused.status, 400, "{authentication}");
        assert!(refused.text.contains(wanted), "{authentication}: {}", refused.text);
    }
}

#[tokio::test]
async fn token_of_the_caller_goes_to_its_audience_and_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let data = Data::Folder(folder.path().to_owned());
    let system = System::with(Options { data, ..options() }).await;
    let (olga, (ada, token), echo) = (operator(&system, "acme"), ada(&system), Echo::start("").await);
    echo.open(&olga, "echo", of_caller("local-cloud")).await;
    ada.execute(&asks_of("echo", "call echo__read {}; call echo__act {}")).await.result();
    let received = echo.received();
    assert_eq!(received.len(), 2);
    for (_, headers) in &received {
        assert_eq!(headers["authorization"], format!("Bearer {token}"));
    }
    let sent = system.last_call().to_string();
    assert!(sent.contains("Bearer [secret]"), "{sent}");
    let signature = token.rsplit('.').next().unwrap();
    assert!(!system.model_calls().iter().any(|call| call.to_string().contains(signature)));

    echo.open(&olga, "payroll", of_caller("payroll")).await;
    ada.execute(&asks_of("payroll", "call payroll__read {}")).await.result();
    let sent = system.last_call().to_string();
    assert!(sent.contains("needs a token for the audience payroll"), "{sent}");
    assert_eq!(echo.received().len(), 2);
    system.cloud.shutdown().await;
    let mut files = 0;
    search(folder.path(), signature.as_bytes(), &mut files);
    assert!(files > 5, "{files} files");
}

fn search(folder: &std::path::Path, secret: &[u8], files: &mut usize) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            search(&path, secret, files);
            continue;
        }
        *files += 1;
        let bytes = std::fs::read(&path).unwrap();
        assert!(
            !bytes.windows(secret.len()).any(|part| part == secret),
            "{} holds the token",
            path.display()
        );
    }
}

#[tokio::test]
async fn token_of_the_caller_is_absent_after_a_suspension() {
    let system = System::start().await;
    let (olga, (ada, _), echo) = (operator(&system, "acme"), ada(&system), Echo::start("").await);
    echo.open(&olga, "echo", of_caller("local-cloud")).await;
    let script = "call echo__read {}; call workspace_read_file {\"path\":\"a\"}; then; call echo__act {}";
    let suspended = ada.execute(&asks_of("echo", script)).await.result();
    assert_eq!(echo.received().len(), 1, "before the suspension it is the caller's own request");
    submit(&ada, &results(&suspended, "contents")).await.result();
    let sent = system.last_call().to_string();
    assert!(sent.contains("the connection echo needs the token of the caller"), "{sent}");
    assert_eq!(echo.received().len(), 1);
}

#[tokio::test]
async fn retry_of_the_caller_has_a_token_again() {
    let (shop, mut kills) = Shop::start(false).await;
    let system = System::with(Options { lease: Some(LEASE), ..options() }).await;
    let (olga, (ada, _)) = (operator(&system, "acme"), ada(&system));
    shop.open(&olga, "http").await;
    let mut connection = olga.get(&CONNECTIONS.context("shop")).await.result()["Content"].clone();
    connection["Authentication"] = of_caller("local-cloud");
    put(&olga, &CONNECTIONS.context("shop"), &connection).await.result();
    shop.kill_at("1", Moment::Performed);
    let answer = run_with_kill(&system, &ada, &asks(&call("refund_keyed", "1")), &mut kills).await.result();
    assert!(!answer["UserWarnings"].to_string().contains("unknown"), "{answer}");
    let sent = system.last_call().to_string();
    assert!(sent.contains("refunded"), "{sent}");
    assert_eq!(shop.performed().len(), 1);
}
