//! The revision that a client and a server agree on, and the lists of tools in it.

use crate::server::{Reply, Request, Server, accepted, response, text};
use mcp_client::{Authentication, Client, Error, Revision};
use serde_json::{Value, json};

const ALL_NAMES: [&str; 3] = ["server/discover", "initialize", "notifications/initialized"];

/// Answers an `initialize` with a revision.
fn initialized(request: &Request, version: &str) -> Reply {
    match request.name() {
        "initialize" => request.result(&json!({ "protocolVersion": version, "capabilities": {} })),
        _ => accepted(),
    }
}

#[tokio::test]
async fn stateless_server_is_found() {
    let server =
        Server::start(|request| request.result(&json!({ "supportedVersions": ["2026-07-28"] }))).await;
    let session = server.client().connect().await.unwrap();
    assert_eq!(session.revision(), Revision::V2026_07_28);
    session.ping().await.unwrap();
    assert_eq!(server.names(), ["server/discover", "server/discover"]);
}

/// The probe has no effect, so it may be repeated where the server names the revision that it just refused.
#[tokio::test]
async fn refused_version_that_the_server_names_is_tried_again() {
    let first = std::sync::atomic::AtomicBool::new(true);
    let server = Server::start(move |request| {
        if first.swap(false, std::sync::atomic::Ordering::SeqCst) {
            request.error(400, -32022, &json!({ "supported": ["2026-07-28"] }))
        } else {
            request.result(&json!({ "supportedVersions": ["2026-07-28"] }))
        }
    })
    .await;
    assert_eq!(server.client().connect().await.unwrap().revision(), Revision::V2026_07_28);
}

#[tokio::test]
async fn server_of_an_older_revision_gets_a_session() {
    type Script = fn(&Request) -> Reply;
    let probes: [Script; 6] = [
        |request| request.error(404, -32601, &Value::Null),
        |request| request.error(400, -32000, &Value::Null),
        |request| request.error(400, -32022, &json!({ "supported": ["2025-11-25"] })),
        |request| request.result(&json!({ "supportedVersions": ["2025-11-25", "2025-06-18"] })),
        |_| response(400, "content-length: 0\r\n", ""),
        |_| response(500, "content-length: 0\r\n", ""),
    ];
    for probe in probes {
        let server = Server::start(move |request| match request.name() {
            "server/discover" => probe(request),
            _ => initialized(request, "2025-06-18"),
        })
        .await;
        let session = server.client().connect().await.unwrap();
        assert_eq!(session.revision(), Revision::V2025_06_18);
        assert_eq!(server.names(), ALL_NAMES);
        assert_eq!(server.requests()[1].body["params"]["protocolVersion"], "2025-11-25");
        assert_eq!(server.requests()[2].header("mcp-protocol-version"), Some("2025-06-18"));
    }
}

#[tokio::test]
async fn server_without_a_common_revision_is_rejected() {
    for version in ["2024-11-05", "2026-07-28", "next", ""] {
        let server = Server::start(move |request| match request.name() {
            "server/discover" => request.error(404, -32601, &Value::Null),
            _ => initialized(request, version),
        })
        .await;
        let error = server.client().connect().await.unwrap_err();
        assert!(matches!(error, Error::Revision), "{error:?}");
        assert_eq!(server.names(), ["server/discover", "initialize"]);
    }
}

#[tokio::test]
async fn server_that_wants_authentication_is_not_asked_again() {
    for status in [401, 403] {
        let server = Server::start(move |_| response(status, "content-length: 0\r\n", "")).await;
        let error = server.client().connect().await.unwrap_err();
        assert!(matches!(error, Error::Status(got) if got == status), "{error:?}");
        assert_eq!(server.names(), ["server/discover"]);
    }
}

#[tokio::test]
async fn authentication_cannot_replace_a_header_of_the_protocol() {
    let http = reqwest::Client::new();
    for name in ["mcp-session-id", "Mcp-Param-Region", "content-type", "host", "accept"] {
        let authentication =
            Authentication::Header { name: name.parse().unwrap(), value: "v".parse().unwrap() };
        let client = Client::new(
            &http,
            "https://example.com/mcp".parse().unwrap(),
            Some(authentication),
            std::time::Duration::from_secs(1),
        );
        assert!(matches!(client.unwrap_err(), Error::Header(_)), "{name}");
    }
}

#[tokio::test]
async fn all_pages_of_tools_are_listed() {
    let server = Server::start(|request| {
        let (name, next) = match request.body["params"]["cursor"].as_str() {
            None => ("a", json!("2")),
            Some("2") => ("b", json!("3")),
            Some(_) => ("c d", Value::Null),
        };
        let tool = json!({ "name": name, "inputSchema": { "type": "object" } });
        request.result(&json!({ "resultType": "complete", "tools": [tool], "nextCursor": next }))
    })
    .await;
    let session = server.client().connect_at(Revision::V2026_07_28).await.unwrap();
    let list = session.list_tools().await.unwrap();
    assert_eq!(list.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(list.excluded[0].name, "c d");
}

#[tokio::test]
async fn list_that_fails_on_a_page_is_no_list() {
    let server = Server::start(|request| match request.body["params"]["cursor"].as_str() {
        None => request.result(&json!({ "tools": [], "nextCursor": "2" })),
        Some(_) => request.result(&text("no list")),
    })
    .await;
    let session = server.client().connect_at(Revision::V2026_07_28).await.unwrap();
    let error = session.list_tools().await.unwrap_err();
    assert!(matches!(error, Error::List(_)), "{error:?}");
}
