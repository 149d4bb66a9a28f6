use http::HeaderValue;
use serde_json::json;

use super::*;

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    let json = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    pairs.iter().fold(json, |mut headers, (name, value)| {
        headers.append(*name, HeaderValue::from_static(value));
        headers
    })
}

fn parse(pairs: &[(&'static str, &'static str)], body: &Value) -> Result<Message, (u64, i64)> {
    Message::parse(&headers(pairs), body.to_string().as_bytes()).map_err(|error| {
        let status = axum::response::IntoResponse::into_response(error.clone()).status();
        (status.as_u16().into(), error.body()["error"]["code"].as_i64().unwrap())
    })
}

fn meta() -> Value {
    json!({META_VERSION: PER_REQUEST_VERSION, META_CAPABILITIES: {}})
}

fn request(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

const MODERN: [(&str, &str); 2] = [(VERSION, PER_REQUEST_VERSION), (METHOD, "tools/list")];

fn era_of(message: Result<Message, (u64, i64)>) -> Era {
    match message {
        Ok(Message::Request(request)) => request.era,
        other => panic!("{other:?}"),
    }
}

#[test]
fn version_decides_the_era() {
    let plain = request("tools/list", &json!({}));
    assert_eq!(era_of(parse(&[], &plain)), Era::Handshake);
    assert_eq!(era_of(parse(&[(VERSION, "2025-11-25")], &plain)), Era::Handshake);
    let modern = request("tools/list", &json!({"_meta": meta()}));
    assert_eq!(era_of(parse(&MODERN, &modern)), Era::PerRequest);
    for (headers, body, refused) in [
        (vec![(VERSION, "2024-01-01")], &plain, (400, -32022)),
        (vec![MODERN[0]], &plain, (400, -32602)),
        (vec![MODERN[1]], &modern, (400, -32020)),
        (vec![(VERSION, "2025-11-25"), MODERN[1]], &modern, (400, -32020)),
        (vec![MODERN[0], MODERN[0], MODERN[1]], &modern, (400, -32020)),
        (vec![MODERN[0]], &modern, (400, -32020)),
        (vec![MODERN[0], (METHOD, "tools/call")], &modern, (400, -32020)),
    ] {
        assert_eq!(parse(&headers, body), Err(refused), "{headers:?}");
    }
    let incomplete = request("tools/list", &json!({"_meta": {META_VERSION: PER_REQUEST_VERSION}}));
    assert_eq!(parse(&MODERN, &incomplete), Err((400, -32602)));
}

#[test]
fn name_of_a_call_is_repeated_in_a_header() {
    let call = request("tools/call", &json!({"name": "default", "_meta": meta()}));
    let headers = |name| [MODERN[0], (METHOD, "tools/call"), (NAME, name)];
    assert!(parse(&headers("default"), &call).is_ok());
    assert_eq!(parse(&headers("other"), &call), Err((400, -32020)));
    assert_eq!(parse(&headers("default")[..2], &call), Err((400, -32020)));
}

#[test]
fn other_bodies_are_refused() {
    for (body, refused) in [
        (json!([request("ping", &json!({}))]), (400, -32600)),
        (json!("ping"), (400, -32600)),
        (json!({"id": 1, "method": "ping"}), (400, -32600)),
        (json!({"jsonrpc": "2.0", "id": null, "method": "ping"}), (400, -32600)),
        (json!({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}), (400, -32600)),
        (json!({"jsonrpc": "2.0", "id": 1, "result": {}}), (400, -32600)),
        (json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}), (400, -32600)),
    ] {
        assert_eq!(parse(&[], &body), Err(refused), "{body}");
    }
    let broken = Message::parse(&headers(&[]), b"{").unwrap_err();
    assert_eq!(
        broken.body(),
        json!({"jsonrpc": "2.0", "error": {"code": -32700, "message": "The body isn't JSON."}})
    );
    assert!(Message::parse(&HeaderMap::new(), b"{}").is_err());
}

#[test]
fn requests_of_a_session_and_with_a_key_have_names() {
    let name = |headers: &[(&'static str, &'static str)], params: &Value| match parse(
        headers,
        &request("tools/call", params),
    )
    .unwrap()
    {
        Message::Request(request) => request.name().unwrap(),
        Message::Notification(_) => panic!("no request"),
    };
    let key = json!({"_meta": {META_KEY: "k"}});
    assert_eq!(name(&[], &json!({})), None);
    assert_eq!(name(&[], &key), Some(RequestName::key("k")));
    let session = [(SESSION, "s")];
    let in_session = RequestName::in_session("s", &json!(7));
    assert_eq!(name(&session, &json!({})), Some(in_session.clone()));
    let cancel = |id: Value| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    let cancelled = |message| match message {
        Ok(Message::Notification(notification)) => notification.cancelled(),
        other => panic!("{other:?}"),
    };
    assert_eq!(cancelled(parse(&session, &cancel(json!(7)))), Some(in_session));
    assert_eq!(cancelled(parse(&[], &cancel(json!(7)))), None);
    assert_eq!(cancelled(parse(&session, &cancel(json!(null)))), None);
}
