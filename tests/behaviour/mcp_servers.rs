//! MCP servers that others wrote, driven through turns while the functions are killed in the middle of their calls.
//!
//! `scripts/mcp-client-conformance` starts the servers and names them in `MCP_SERVERS`: for each its `name`, its `url`, and the
//! `calls` to make, each with a `tool`, its `arguments` and its `class`. Each call is made twice: once alone, and once with a
//! kill, before the server gets it or before its response is returned. A proxy of the test's own counts what arrives.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Method, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use contracts::paths::{AGENTS, CONNECTIONS};
use futures::join;
use local::{Function, Options};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
};

use crate::agents::put;
use crate::export::operator;
use crate::support::{LEASE, System, options, turn, turn_path};

#[derive(Debug, Deserialize)]
struct Server {
    name: String,
    url: String,
    calls: Vec<Call>,
}

#[derive(Debug, Deserialize)]
struct Call {
    tool: String,
    arguments: Value,
    class: String,
}

/// The side of a call on which the functions are killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Request,
    Response,
}

/// A proxy before a server.
#[derive(Clone)]
struct Proxy {
    target: String,
    http: reqwest::Client,
    kill_at: Arc<std::sync::Mutex<Option<Side>>>,
    kills: mpsc::UnboundedSender<oneshot::Sender<()>>,
    /// The tool calls that reached the server.
    calls: Arc<AtomicUsize>,
}

impl Proxy {
    async fn kill(&self, side: Side) -> bool {
        if self.kill_at.lock().unwrap().take_if(|at| *at == side).is_none() {
            return false;
        }
        let (killed, done) = oneshot::channel();
        self.kills.send(killed).unwrap();
        done.await.ok();
        true
    }
}

async fn forward(
    State(proxy): State<Proxy>,
    method: Method,
    uri: Uri,
    mut headers: HeaderMap,
    body: Bytes,
) -> Response {
    let is_call = serde_json::from_slice::<Value>(&body).is_ok_and(|body| body["method"] == "tools/call");
    if is_call && proxy.kill(Side::Request).await {
        return StatusCode::BAD_GATEWAY.into_response();
    }
    if is_call {
        proxy.calls.fetch_add(1, Ordering::Relaxed);
    }
    headers.remove("host");
    headers.remove("content-length");
    let request = proxy.http.request(method, format!("{}{}", proxy.target, uri.path())).headers(headers);
    let Ok(response) = request.body(body).send().await else {
        return StatusCode::BAD_GATEWAY.into_response();
    };
    let (status, mut headers) = (response.status(), response.headers().clone());
    headers.remove("transfer-encoding");
    let body = match is_call {
        true => Body::from(response.bytes().await.unwrap_or_default()),
        false => Body::from_stream(response.bytes_stream()),
    };
    if is_call {
        proxy.kill(Side::Response).await;
    }
    (status, headers, body).into_response()
}

#[tokio::test]
async fn servers_of_others_are_called_in_turns_and_once_under_kills() {
    let Ok(servers) = std::env::var("MCP_SERVERS") else { return };
    let servers: Vec<Server> = serde_json::from_str(&servers).expect("servers");
    let system = System::with(Options { lease: Some(LEASE), ..options() }).await;
    for server in &servers {
        drive(&system, server).await;
    }
}

async fn drive(system: &System, server: &Server) {
    let (olga, ada) = (operator(system, "acme"), system.client("acme", "ada"));
    let (kills, mut wanted) = mpsc::unbounded_channel();
    let url: reqwest::Url = server.url.parse().unwrap();
    let proxy = Proxy {
        target: url.origin().ascii_serialization(),
        http: reqwest::Client::builder().no_proxy().build().unwrap(),
        kill_at: Arc::default(),
        kills,
        calls: Arc::default(),
    };
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = format!("http://{}{}", listener.local_addr().unwrap(), url.path());
    let router = Router::new().fallback(forward).with_state(proxy.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });

    let tools = server.calls.iter().enumerate().map(|(number, call)| {
        json!({
            "Name": format!("t{number}"), "RemoteName": call.tool, "Description": "A tool.", "Class": call.class,
            "Parameters": { "type": "object", "properties": properties(&call.arguments) },
        })
    });
    let connection = json!({
        "Name": server.name, "Protocol": "mcp", "Url": address, "TimeoutSeconds": 60, "Tools": tools.collect::<Vec<_>>(),
    });
    put(&olga, &CONNECTIONS.context(&server.name), &connection).await.result();
    let agent = json!({ "Name": server.name, "Tools": [server.name] });
    put(&olga, &AGENTS.context(&server.name), &agent).await.result();

    for (number, call) in server.calls.iter().enumerate() {
        let script = format!("call {}__t{number} {}", server.name, call.arguments);
        let asks = || {
            let mut turn = turn(&format!("Go [[script: {script}; then; say \"Done.\"]]"));
            turn["AgentContextId"] = json!(server.name);
            turn
        };
        let alone = asks();
        ada.execute(&alone).await.result();
        let steps = ada.get(&format!("{}/steps", turn_path(&alone))).await.result();
        let result = &steps["Items"][0]["Calls"][0]["ResultJson"];
        assert!(result.is_string(), "{} {}: {steps}", server.name, call.tool);
        for side in [Side::Request, Side::Response] {
            let before = proxy.calls.load(Ordering::Relaxed);
            *proxy.kill_at.lock().unwrap() = Some(side);
            let sent = asks();
            let kill = async {
                let killed = wanted.recv().await.unwrap();
                system.cloud.crash(Function::Execute);
                killed.send(()).ok();
            };
            let (broken, ()) = join!(ada.execute(&sent), kill);
            assert_eq!(broken.error(), "FunctionFailed");
            let answer = ada.execute_when_free(&sent).await.result();
            let arrived = proxy.calls.load(Ordering::Relaxed) - before;
            let is_unknown = answer["UserWarnings"].to_string().contains("is unknown");
            let expected = match (call.class.as_str(), side) {
                // Nobody knows what a server did with a call that was sent.
                ("effect", Side::Request) => (0, true),
                ("effect", Side::Response) => (1, true),
                (_, Side::Request) => (1, false),
                (_, Side::Response) => (2, false),
            };
            assert_eq!((arrived, is_unknown), expected, "{} {} {side:?}: {answer}", server.name, call.tool);
        }
        println!("{} {} ({}): a result, and two kills", server.name, call.tool, call.class);
    }
}

/// Returns a schema of each argument.
fn properties(arguments: &Value) -> Value {
    let of_type = |value: &Value| match value {
        Value::Number(_) => "integer",
        Value::Bool(_) => "boolean",
        _ => "string",
    };
    let members = arguments.as_object().unwrap().iter();
    members.map(|(name, value)| (name.clone(), json!({ "type": of_type(value) }))).collect()
}
