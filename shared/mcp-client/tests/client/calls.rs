//! Calls and the faults around them, against a server that counts what arrives.

use std::time::Duration;

use crate::server::{Allow, Refuse, Reply, Request, Server, accepted, events, json_response, response, text};
use futures::FutureExt;
use mcp_client::{
    Authentication, Call, Client, Content, NotSent, Observer, Outcome, ParamHeader, ReadError, Refusal,
    Revision, Session, Unknown,
};
use serde_json::{Value, json};

/// A limit that no test waits for.
const LONG: Duration = Duration::from_secs(60);

fn call<'a>(arguments: &'a Value, headers: &'a [ParamHeader]) -> Call<'a> {
    Call { name: "create.ticket", arguments, headers, key: Some("KEY"), timeout: LONG }
}

/// Calls a tool in the stateless revision.
async fn stateless(server: &Server) -> Outcome {
    let session = server.client().connect_at(Revision::V2026_07_28).await.unwrap();
    session.call(&call(&json!({}), &[]), &Allow::default()).await
}

/// A script for servers with sessions, which answers everything but calls.
fn with_session(calls: impl Fn(&Request) -> Reply + Send + Sync) -> impl Fn(&Request) -> Reply + Send + Sync {
    move |request| match request.name() {
        "initialize" => {
            let result = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {} });
            let body = json!({ "jsonrpc": "2.0", "id": request.body["id"], "result": result }).to_string();
            let length = body.len();
            response(
                200,
                &format!(
                    "mcp-session-id: s1\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n"
                ),
                &body,
            )
        }
        "tools/call" | "GET" => calls(request),
        _ => accepted(),
    }
}

async fn session(server: &Server) -> Session {
    server.client().connect_at(Revision::V2025_11_25).await.unwrap()
}

#[tokio::test]
async fn call_arrives_once_with_the_headers_of_the_revision() {
    let server = Server::start(|request| request.result(&text("created"))).await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let authentication = Authentication::Header {
        name: "authorization".parse().unwrap(),
        value: "Bearer secret".parse().unwrap(),
    };
    let client = Client::new(&http, server.url.parse().unwrap(), Some(authentication), LONG).unwrap();
    let session = client.connect_at(Revision::V2026_07_28).await.unwrap();
    let arguments = json!({ "region": "Zürich", "title": "t" });
    let mirrored = [ParamHeader { path: vec!["region".to_owned()], header: "Region".to_owned() }];

    // Turns run on any thread.
    let calling = async move { session.call(&call(&arguments, &mirrored), &Allow::default()).await };
    let outcome = tokio::spawn(calling).await.unwrap();

    let Outcome::Done(result) = outcome else { panic!("{outcome:?}") };
    assert_eq!(result.content, [Content::Text("created".to_owned())]);
    let requests = server.requests();
    let [request] = requests.as_slice() else { panic!("{requests:?}") };
    assert_eq!(request.header("mcp-method"), Some("tools/call"));
    assert_eq!(request.header("mcp-name"), Some("create.ticket"));
    assert_eq!(request.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(request.header("mcp-param-region"), Some("=?base64?WsO8cmljaA==?="));
    assert_eq!(request.header("authorization"), Some("Bearer secret"));
    let with_secret = request.headers.values().filter(|value| value.contains("secret")).count();
    assert_eq!(with_secret, 1);
    let meta = &request.body["params"]["_meta"];
    assert_eq!(meta["aptix/idempotencyKey"], "KEY");
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({}));
    assert_eq!(request.body["params"]["arguments"], json!({ "region": "Zürich", "title": "t" }));
}

#[tokio::test]
async fn call_without_permission_never_arrives() {
    let server = Server::start(|request| request.result(&text("created"))).await;
    let session = server.client().connect_at(Revision::V2026_07_28).await.unwrap();
    let outcome = session.call(&call(&json!({}), &[]), &Refuse).await;
    assert!(matches!(outcome, Outcome::NotSent(NotSent::NotPermitted)), "{outcome:?}");
    server.ended(1).await;
    assert!(server.requests().is_empty());
}

/// The call is dropped while it waits for its connection, which nobody has after a single poll.
#[tokio::test]
async fn call_that_is_dropped_before_its_connection_never_arrives() {
    let server = Server::start(|request| request.result(&text("created"))).await;
    let session = server.client().connect_at(Revision::V2026_07_28).await.unwrap();
    let outcome = session.call(&call(&json!({}), &[]), &Allow::default()).now_or_never();
    assert!(outcome.is_none(), "{outcome:?}");
    // A later call arrives, and the dropped one doesn't.
    assert!(matches!(stateless(&server).await, Outcome::Done(_)));
    assert_eq!(server.names(), ["tools/call"]);
}

#[tokio::test]
async fn call_without_a_server_is_not_sent() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let client = Client::new(&http, url.parse().unwrap(), None, LONG).unwrap();
    let session = client.connect_at(Revision::V2026_07_28).await.unwrap();
    let outcome = session.call(&call(&json!({}), &[]), &Allow::default()).await;
    assert!(matches!(outcome, Outcome::NotSent(NotSent::Connection(_))), "{outcome:?}");
}

#[tokio::test]
async fn call_that_cannot_be_written_is_not_sent() {
    let server = Server::start(|request| request.result(&text("created"))).await;
    let session = server.client().connect_at(Revision::V2026_07_28).await.unwrap();
    let mirrored = [ParamHeader { path: vec!["a".to_owned()], header: "A".to_owned() }];
    for arguments in [json!([]), json!({ "a": [] }), json!({ "a": "x".repeat(5000) })] {
        let outcome = session.call(&call(&arguments, &mirrored), &Allow::default()).await;
        assert!(matches!(outcome, Outcome::NotSent(NotSent::Invalid(_))), "{outcome:?}");
    }
    assert!(server.requests().is_empty());
}

/// Every fault of a server leads to one request, and to the outcome of the table.
#[tokio::test]
async fn faults_of_a_server_have_the_outcome_of_the_table_after_one_request() {
    type Script = fn(&Request) -> Reply;
    let refused: [Script; 5] = [
        |_| response(403, "content-length: 0\r\n", ""),
        |_| response(429, "content-length: 2\r\ncontent-type: text/html\r\n", "no"),
        |request| request.error(200, -32602, &Value::Null),
        |request| request.error(404, -32601, &Value::Null),
        |request| request.error(400, -32020, &Value::Null),
    ];
    for script in refused {
        let server = Server::start(script).await;
        let outcome = stateless(&server).await;
        assert!(matches!(outcome, Outcome::Refused(_)), "{outcome:?}");
        assert_eq!(server.names(), ["tools/call"]);
    }
    let unknown: [Script; 13] = [
        |_| response(500, "content-length: 0\r\n", ""),
        |_| response(408, "content-length: 0\r\n", ""),
        |request| request.error(200, -32603, &Value::Null),
        |request| request.error(200, -32000, &Value::Null),
        // Cut in the head, in the body, and in a stream.
        |_| Reply::Bytes(b"HTTP/1.1 200 OK\r\ncontent-".to_vec()),
        |_| Reply::Bytes(Vec::new()),
        |_| response(200, "content-type: application/json\r\ncontent-length: 100\r\n", "{\"jsonrpc\""),
        |request| events(request.event(&text("created")).trim_end()),
        // A stream of the stateless revision isn't resumed, and its request isn't sent again.
        |_| events("id: 1\nretry: 1\ndata:\n\n"),
        // Valid in HTTP, and no result of this call.
        |_| accepted(),
        |_| response(200, "content-type: text/html\r\ncontent-length: 4\r\n", "done"),
        |request| request.result(&json!({ "resultType": "complete" })),
        |_| json_response(200, &json!({ "jsonrpc": "2.0", "id": 999, "result": text("other") })),
    ];
    for script in unknown {
        let server = Server::start(script).await;
        let outcome = stateless(&server).await;
        assert!(matches!(outcome, Outcome::Unknown(_)), "{outcome:?}");
        assert_eq!(server.names(), ["tools/call"]);
    }
}

#[tokio::test]
async fn oversized_response_is_unknown() {
    for is_stream in [false, true] {
        let large = text(&"x".repeat(5 * 1024 * 1024));
        let server = Server::start(move |request| match is_stream {
            false => request.result(&large),
            true => events(&request.event(&large)),
        })
        .await;
        let outcome = stateless(&server).await;
        assert!(matches!(outcome, Outcome::Unknown(Unknown::Read(ReadError::TooLarge))), "{outcome:?}");
    }
}

/// Even a client that follows redirects can't send a call twice, since its body is gone.
#[tokio::test]
async fn redirect_repeats_no_call() {
    for status in [301, 302, 303, 307, 308] {
        let server = Server::start(move |request| match request.method.as_str() {
            "POST" => response(status, "location: /other\r\ncontent-length: 0\r\n", ""),
            _ => response(404, "content-length: 0\r\n", ""),
        })
        .await;
        let outcome = stateless(&server).await;
        assert!(!matches!(outcome, Outcome::Done(_) | Outcome::NotSent(_)), "{outcome:?}");
        assert_eq!(server.names().iter().filter(|name| *name == "tools/call").count(), 1);
    }
}

#[tokio::test]
async fn input_required_is_refused_by_name() {
    let server = Server::start(|request| {
        request.result(&json!({ "resultType": "input_required", "inputRequests": {}, "requestState": "s" }))
    })
    .await;
    let outcome = stateless(&server).await;
    assert!(matches!(outcome, Outcome::Refused(Refusal::InputRequired)), "{outcome:?}");
    assert_eq!(server.names(), ["tools/call"]);
}

#[tokio::test]
async fn session_begins_serves_and_ends() {
    let server = Server::start(with_session(|request| request.result(&text("created")))).await;
    let session = session(&server).await;
    let arguments = json!({ "region": "eu" });
    let mirrored = [ParamHeader { path: vec!["region".to_owned()], header: "Region".to_owned() }];
    let outcome = session.call(&call(&arguments, &mirrored), &Allow::default()).await;
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    session.close().await;

    assert_eq!(server.names(), ["initialize", "notifications/initialized", "tools/call", "DELETE"]);
    let requests = server.requests();
    assert_eq!(requests[0].header("mcp-session-id"), None);
    for request in &requests[1..] {
        assert_eq!(request.header("mcp-session-id"), Some("s1"));
        assert_eq!(request.header("mcp-protocol-version"), Some("2025-11-25"));
        assert_eq!(request.header("mcp-param-region"), None);
        assert_eq!(request.header("mcp-method"), None);
    }
}

#[tokio::test]
async fn expired_session_refuses_a_call_and_is_not_begun_again() {
    let server = Server::start(with_session(|_| response(404, "content-length: 0\r\n", ""))).await;
    let outcome = session(&server).await.call(&call(&json!({}), &[]), &Allow::default()).await;
    assert!(matches!(outcome, Outcome::Refused(Refusal::Status { status: 404, .. })), "{outcome:?}");
    assert_eq!(server.names(), ["initialize", "notifications/initialized", "tools/call"]);
}

/// A server with sessions may end a stream and send its rest later. That repeats no call.
#[tokio::test]
async fn stream_of_a_session_is_resumed() {
    let server = Server::start(with_session(|request| match request.method.as_str() {
        "POST" => events("id: e1\nretry: 1\ndata:\n\n"),
        _ if request.header("last-event-id") == Some("e1") => events("id: e2\nretry: 1\ndata:\n\n"),
        _ => {
            events(&format!("data: {}\n\n", json!({ "jsonrpc": "2.0", "id": 2, "result": text("created") })))
        }
    }))
    .await;
    let outcome = session(&server).await.call(&call(&json!({}), &[]), &Allow::default()).await;
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    assert_eq!(server.names(), ["initialize", "notifications/initialized", "tools/call", "GET", "GET"]);
}

#[tokio::test]
async fn stream_that_never_resumes_is_unknown() {
    let server = Server::start(with_session(|request| match request.method.as_str() {
        "POST" => events("id: e1\nretry: 1\ndata:\n\n"),
        _ => response(405, "content-length: 0\r\n", ""),
    }))
    .await;
    let outcome = session(&server).await.call(&call(&json!({}), &[]), &Allow::default()).await;
    assert!(matches!(outcome, Outcome::Unknown(Unknown::Read(ReadError::Cut(_)))), "{outcome:?}");
    assert_eq!(server.names().last().unwrap(), "GET");
}

#[tokio::test]
async fn call_that_times_out_is_unknown() {
    let server = Server::start(|_| Reply::Silence).await;
    let session = server.client().connect_at(Revision::V2026_07_28).await.unwrap();
    let arguments = json!({});
    // The limit leaves a busy machine the time to connect.
    let call = Call { timeout: Duration::from_secs(5), ..call(&arguments, &[]) };
    let outcome = session.call(&call, &Allow::default()).await;
    assert!(matches!(outcome, Outcome::Unknown(Unknown::Timeout(_))), "{outcome:?}");
    assert_eq!(server.names(), ["tools/call"]);
}

/// Cancels a call as soon as it has arrived.
struct CancelOnArrival<'a>(&'a Server);

impl Observer for CancelOnArrival<'_> {
    fn may_send(&self) -> bool {
        true
    }

    async fn cancelled(&self) {
        self.0.arrived("tools/call").await;
    }
}

#[tokio::test]
async fn cancelled_call_is_unknown_and_cancelled_in_a_session() {
    let server = Server::start(with_session(|_| Reply::Silence)).await;
    let outcome = session(&server).await.call(&call(&json!({}), &[]), &CancelOnArrival(&server)).await;
    assert!(matches!(outcome, Outcome::Unknown(Unknown::Cancelled)), "{outcome:?}");
    let requests = server.requests();
    let cancelled = requests.last().unwrap();
    assert_eq!(cancelled.name(), "notifications/cancelled");
    assert_eq!(cancelled.body["params"]["requestId"], 2);
}

#[tokio::test]
async fn cancelled_call_of_the_stateless_revision_ends_its_connection() {
    let server = Server::start(|_| Reply::Silence).await;
    let session = server.client().connect_at(Revision::V2026_07_28).await.unwrap();
    let outcome = session.call(&call(&json!({}), &[]), &CancelOnArrival(&server)).await;
    assert!(matches!(outcome, Outcome::Unknown(Unknown::Cancelled)), "{outcome:?}");
    server.ended(1).await;
    assert_eq!(server.names(), ["tools/call"]);
}

#[tokio::test]
async fn progress_is_observed_and_requests_of_the_server_are_answered() {
    let stream = |request: &Request| {
        let token = &request.body["params"]["_meta"]["progressToken"];
        let progress = |token: &Value, value: f64| {
            let params =
                json!({ "progressToken": token, "progress": value, "total": 2, "message": "step\u{200b}" });
            format!(
                "data: {}\n\n",
                json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
            )
        };
        let asked = |id: &str, method: &str| {
            format!("data: {}\n\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": {} }))
        };
        events(
            &[
                ": a comment\n\n".to_owned(),
                progress(token, 1.0),
                progress(&json!("other"), 9.0),
                asked("p", "ping"),
                asked("e", "elicitation/create"),
                progress(token, 2.0),
                request.event(&text("created")),
            ]
            .concat(),
        )
    };
    let server = Server::start(with_session(stream)).await;
    let observer = Allow::default();
    let outcome = session(&server).await.call(&call(&json!({}), &[]), &observer).await;
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    let seen = observer.seen();
    assert_eq!(seen.iter().map(|progress| progress.progress).collect::<Vec<_>>(), [1.0, 2.0]);
    assert_eq!(seen[0].message.as_deref(), Some("step\\u{200b}"));
    assert_eq!(seen[0].total, Some(2.0));
    let answers: Vec<Value> = server.requests()[3..]
        .iter()
        .map(|request| json!([request.body["id"], request.body["error"]["code"]]))
        .collect();
    assert_eq!(answers, [json!(["p", null]), json!(["e", -32601])]);
}
