//! A shop that refunds orders and counts what it performs, over HTTP, over MCP and as a Lambda function, and a connection to
//! it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use axum::{
    Json, Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use contracts::paths::{AGENTS, CONNECTIONS};
use local::{Options, aws_credentials::SharedCredentialsProvider};
use mock_wires::verified;
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
    task::JoinHandle,
};

use crate::agents::put;
use crate::bedrock;
use crate::support::{Client, turn};

/// The moment of a call at which the shop asks for a kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The call arrived. It is never performed.
    Lost,
    /// The call arrived. It is performed after the kill.
    Late,
    /// The refund is performed, and no response is sent.
    Performed,
}

/// The alias of the function that the shop is.
pub const FUNCTION: &str = "arn:aws:lambda:eu-central-1:123456789012:function:shop:live";

/// Asks the test to kill the caller, and waits until it has.
pub type Kill = oneshot::Sender<()>;

/// A shop.
pub struct Shop {
    pub url: String,
    /// The AWS service of the signatures that each request needs.
    service: Option<&'static str>,
    state: Shared,
    server: JoinHandle<std::io::Result<()>>,
}

#[derive(Clone)]
struct Shared {
    performed: Arc<Mutex<Vec<(String, String)>>>,
    moments: Arc<Mutex<BTreeMap<String, Moment>>>,
    kills: mpsc::UnboundedSender<Kill>,
    /// The ends of calls that their caller gave up: `notifications/cancelled`, or the end of the connection.
    cancelled: Arc<Mutex<Vec<String>>>,
    /// The client contexts of invocations.
    contexts: Arc<Mutex<Vec<Value>>>,
    /// True for the revision of MCP without sessions.
    is_stateless: bool,
}

impl Drop for Shop {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Shop {
    /// Starts a shop. Each message that it sends asks for a kill of the functions.
    pub async fn start(is_stateless: bool) -> (Self, mpsc::UnboundedReceiver<Kill>) {
        Self::with(is_stateless, None).await
    }

    /// Starts a shop that accepts only requests with a valid AWS signature for this service.
    pub async fn signed(is_stateless: bool, service: &'static str) -> (Self, mpsc::UnboundedReceiver<Kill>) {
        Self::with(is_stateless, Some(service)).await
    }

    async fn with(
        is_stateless: bool,
        service: Option<&'static str>,
    ) -> (Self, mpsc::UnboundedReceiver<Kill>) {
        let (kills, wanted) = mpsc::unbounded_channel();
        let state = Shared {
            performed: Arc::default(),
            moments: Arc::default(),
            cancelled: Arc::default(),
            contexts: Arc::default(),
            kills,
            is_stateless,
        };
        let router = Router::new().fallback(answer).with_state(state.clone());
        let router = match service {
            Some(service) => verified(router, bedrock::check(service)),
            None => router,
        };
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        (Self { url, service, state, server }, wanted)
    }

    /// Has the caller killed at a moment of the order's first call.
    pub fn kill_at(&self, order: &str, moment: Moment) {
        self.state.moments.lock().unwrap().insert(order.to_owned(), moment);
    }

    /// Returns what was performed, in order: orders with the keys of their calls.
    pub fn performed(&self) -> Vec<(String, String)> {
        self.state.performed.lock().unwrap().clone()
    }

    /// Returns options of a cloud whose connections may invoke the shop as a function, and sign requests to it.
    pub fn allowed(&self, options: Options) -> Options {
        let mut options = options;
        let mut set = |name: &str, value: &str| options.environment.insert(name.to_owned(), value.to_owned());
        set("CONNECTION_FUNCTIONS", FUNCTION);
        set("AWS_ENDPOINT_URL_LAMBDA", &self.url);
        set("CONNECTION_SIGNED_HOSTS", self.url.trim_start_matches("http://"));
        let credentials = SharedCredentialsProvider::new(bedrock::valid_credentials());
        Options { aws_credentials: Some(credentials), ..options }
    }

    /// Returns the client contexts of invocations, in order.
    pub fn contexts(&self) -> Vec<Value> {
        self.state.contexts.lock().unwrap().clone()
    }

    /// Returns the ends of calls that their caller gave up.
    pub fn cancelled(&self) -> Vec<String> {
        self.state.cancelled.lock().unwrap().clone()
    }

    /// Writes the connection `shop`, over HTTP, MCP or as a function, and the agent `clerk` that has its tools.
    pub async fn open(&self, operator: &Client, protocol: &str) {
        let order = json!({
            "type": "object", "required": ["order"], "properties": { "order": { "type": "string" } },
        });
        let tool = |name: &str, class: &str| {
            let mut tool = json!({
                "Name": name, "Description": "Refunds an order.", "Class": class, "Parameters": order,
            });
            if protocol == "http" {
                (tool["Method"], tool["Path"]) = (json!("POST"), json!(format!("/{name}")));
            }
            tool
        };
        let path = if protocol == "http" { "v1" } else { "mcp" };
        let connection = json!({
            "Name": "Shop", "Protocol": protocol, "Url": format!("{}/{path}", self.url),
            "Tools": [tool("refund", "effect"), tool("refund_keyed", "keyed"), tool("status", "read")],
        });
        let mut connection = connection;
        match self.service {
            _ if protocol == "lambda" => {
                connection.as_object_mut().unwrap().remove("Url");
                connection["FunctionArn"] = json!(FUNCTION);
            }
            Some(service) => connection["Authentication"] = signature(service),
            None => {}
        }
        if protocol == "http" {
            let mut with_lookup = tool("refund_found", "effect");
            with_lookup["LookupPath"] = json!("/by-key/{key}");
            connection["Tools"].as_array_mut().unwrap().push(with_lookup);
        }
        put(operator, &CONNECTIONS.context("shop"), &connection).await.result();
        put(operator, &AGENTS.context("clerk"), &json!({ "Name": "Clerk", "Tools": ["shop"] }))
            .await
            .result();
    }
}

/// Returns the authentication of a connection whose requests are signed for this service.
pub fn signature(service: &str) -> Value {
    json!({ "Scheme": "sigv4", "Service": service, "Region": "eu-central-1" })
}

impl Shared {
    /// Answers an invocation of the function. Some orders make it fail.
    async fn invoke(self, headers: &HeaderMap, event: &Value) -> Response {
        let context = BASE64_STANDARD.decode(&headers["x-amz-client-context"]).unwrap();
        let context: Value = serde_json::from_slice(&context).unwrap();
        assert_eq!(headers["x-amz-invocation-type"], "RequestResponse");
        self.contexts.lock().unwrap().push(context["custom"].clone());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let order = text(&event["order"]);
        let failed = |error: Value| ([("x-amz-function-error", "Unhandled")], Json(error)).into_response();
        let api_error = |status: StatusCode, kind: &'static str| {
            (status, [("x-amzn-errortype", kind)], Json(json!({ "message": kind }))).into_response()
        };
        match order.as_str() {
            "no-such-order" => failed(json!({
                "errorType": "KeyError", "errorMessage": "No such order.", "stackTrace": ["File shop.py"],
            })),
            "slow" => failed(json!({ "errorMessage": "Task timed out after 3.00 seconds" })),
            "throttled" => api_error(StatusCode::TOO_MANY_REQUESTS, "TooManyRequestsException"),
            "unprepared" => api_error(StatusCode::BAD_GATEWAY, "KMSDisabledException"),
            "broken" => api_error(StatusCode::INTERNAL_SERVER_ERROR, "ServiceException"),
            _ => {
                let (tool, key) =
                    (text(&context["custom"]["aptixTool"]), text(&context["custom"]["aptixKey"]));
                Json(tokio::spawn(self.refund(tool, order, key)).await.unwrap()).into_response()
            }
        }
    }

    /// Has the caller killed if that is wanted at this moment of the order's call. Returns true if it was.
    async fn kill(&self, order: &str, moment: Moment) -> bool {
        let is_wanted = self.moments.lock().unwrap().get(order) == Some(&moment);
        if is_wanted {
            self.moments.lock().unwrap().remove(order);
            let (killed, done) = oneshot::channel();
            self.kills.send(killed).ok();
            done.await.ok();
        }
        is_wanted
    }

    /// Performs a refund. Of the keyed tool, once per key.
    async fn refund(self, tool: String, order: String, key: String) -> Value {
        let (tool, order, key) = (tool.as_str(), order.as_str(), key.as_str());
        let is_lost = self.kill(order, Moment::Lost).await;
        self.kill(order, Moment::Late).await;
        if tool != "status" && !is_lost {
            let mut performed = self.performed.lock().unwrap();
            let is_known = |(_, known): &(String, String)| tool == "refund_keyed" && known == key;
            if !performed.iter().any(is_known) {
                performed.push((order.to_owned(), key.to_owned()));
            }
        }
        self.kill(order, Moment::Performed).await;
        json!({ "refunded": order })
    }
}

async fn answer(State(shop): State<Shared>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    if let Some((_, key)) = uri.path().split_once("/by-key/") {
        let performed = shop.performed.lock().unwrap();
        let found = performed.iter().find(|(_, known)| known == key).map(|(order, _)| order.clone());
        return match found {
            Some(order) => Json(json!({ "found": order })).into_response(),
            None => StatusCode::NOT_FOUND.into_response(),
        };
    }
    let Ok(body) = serde_json::from_slice::<Value>(&body) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    if let Some(name) = uri.path().strip_prefix("/2015-03-31/functions/") {
        assert_eq!(name, format!("{}/invocations", FUNCTION.replace(':', "%3A")));
        return shop.invoke(&headers, &body).await;
    }
    if uri.path() != "/mcp" {
        let tool = uri.path().rsplit('/').next().unwrap().to_owned();
        let key = headers.get("idempotency-key").map_or("", |key| key.to_str().unwrap());
        let (order, key) = (body["order"].as_str().unwrap().to_owned(), key.to_owned());
        // A task, since a caller that was killed doesn't end the work.
        return Json(tokio::spawn(shop.refund(tool, order, key)).await.unwrap()).into_response();
    }
    let result =
        |result: Value| Json(json!({ "jsonrpc": "2.0", "id": body["id"], "result": result })).into_response();
    match body["method"].as_str() {
        Some("server/discover") if shop.is_stateless => {
            result(json!({ "supportedVersions": ["2026-07-28"] }))
        }
        Some("initialize") => {
            let initialized = result(json!({
                "protocolVersion": "2025-11-25", "capabilities": {},
                "serverInfo": { "name": "shop", "version": "1" },
            }));
            ([("mcp-session-id", "refunds-1")], initialized).into_response()
        }
        Some("tools/call") => {
            let parameters = &body["params"];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let (tool, order) = (text(&parameters["name"]), text(&parameters["arguments"]["order"]));
            let key = text(&parameters["_meta"]["aptix/idempotencyKey"]);
            let mut connection = Connection { shop: shop.clone(), is_answered: false };
            let refunded = tokio::spawn(shop.refund(tool, order, key)).await.unwrap();
            connection.is_answered = true;
            result(json!({
                "resultType": "complete", "content": [{ "type": "text", "text": refunded.to_string() }],
                "structuredContent": refunded,
            }))
        }
        Some(method) if method.starts_with("notifications/") => {
            if method == "notifications/cancelled" {
                shop.cancelled.lock().unwrap().push(method.to_owned());
            }
            StatusCode::ACCEPTED.into_response()
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

/// The connection of a call over MCP. Its end before the response is a cancellation.
struct Connection {
    shop: Shared,
    is_answered: bool,
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.is_answered {
            self.shop.cancelled.lock().unwrap().push("end of the connection".to_owned());
        }
    }
}

/// Returns a call of the shop's tool in a script.
pub fn call(tool: &str, order: &str) -> String {
    format!("call shop__{tool} {}", json!({ "order": order }))
}

/// Returns a turn of the agent `clerk` whose model follows this script.
pub fn asks(script: &str) -> Value {
    let mut turn = turn(&format!("Refund [[script: {script}; then; say \"Done.\"]]"));
    turn["AgentContextId"] = json!("clerk");
    turn
}
