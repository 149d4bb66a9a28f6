//! Following turns over broken connections.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test")]

use std::sync::{Arc, Mutex};

use aptix_client::{Api, Error, Event, Position, Request, Retry, Token};
use axum::body::Body;
use axum::extract::Request as HttpRequest;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// Starts a server that returns these responses in order and records the `Last-Event-ID` of each request.
async fn server(responses: Vec<Response>) -> (String, Arc<Mutex<Vec<Option<String>>>>) {
    let last_event_ids = Arc::new(Mutex::new(Vec::new()));
    let responses = Arc::new(Mutex::new(responses.into_iter()));
    let recorded = last_event_ids.clone();
    let app = axum::Router::new().fallback(async move |request: HttpRequest| {
        let last = request.headers().get("last-event-id").map(|id| id.to_str().unwrap().to_owned());
        recorded.lock().unwrap().push(last);
        responses.lock().unwrap().next().unwrap_or_else(|| StatusCode::NOT_FOUND.into_response())
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    (base, last_event_ids)
}

fn stream(text: &'static str) -> Response {
    Response::builder().header("content-type", "text/event-stream").body(Body::from(text)).unwrap()
}

async fn follow(base: &str) -> (Result<Value, Error>, Vec<Event>) {
    let api = Api::new(base, Token::Static("t".to_owned())).unwrap();
    let request = Request::post("/api/ai/agent/execute", &json!({}));
    let mut events = Vec::new();
    let result = api.follow(&request, &mut Position::default(), &mut |event| events.push(event)).await;
    (result, events)
}

#[tokio::test]
async fn broken_stream_resumes_after_last_event() {
    let (base, last_event_ids) = server(vec![
        stream("id: 1\nevent: delta\ndata: {\"Index\":0,\"Text\":\"on\"}\n\nid: 2\nevent: delta\ndata: {\"Ind"),
        stream("id: 1\nevent: delta\ndata: {\"Index\":0,\"Text\":\"on\"}\n\nid: 2\nevent: delta\ndata: {\"Index\":2,\"Text\":\"e\"}\n\n"),
        stream("id: 3\nevent: result\ndata: {\"Successful\":true,\"Result\":{\"Kind\":\"final\"},\"Errors\":[]}\n\n"),
    ])
    .await;
    let (result, events) = follow(&base).await;
    assert_eq!(result, Ok(json!({"Kind": "final"})));
    let texts: Vec<_> = events.iter().filter(|event| matches!(event, Event::Delta(_))).collect();
    assert_eq!(texts, [&Event::Delta("on".to_owned()), &Event::Delta("e".to_owned())]);
    assert_eq!(*last_event_ids.lock().unwrap(), [None, Some("1".to_owned()), Some("2".to_owned())]);
}

#[tokio::test]
async fn transient_refusal_retried_and_turn_failure_final() {
    let failed = |code: &str, retry: &str| {
        json!({"Successful": false, "Errors": [{"ErrorCode": code, "Message": "m", "Retry": retry}]})
            .to_string()
    };
    let busy = (StatusCode::CONFLICT, failed("SessionBusy", "same_request")).into_response();
    let end = format!("id: 4\nevent: result\ndata: {}\n\n", failed("ModelTimedOut", "same_request"));
    let (base, last_event_ids) = server(vec![busy, stream(end.leak())]).await;
    let (result, events) = follow(&base).await;
    let error = result.unwrap_err();
    assert_eq!((error.code(), error.retry()), (Some("ModelTimedOut"), Retry::SameRequest));
    assert!(matches!(&events[..], [Event::Retry(refused)] if refused.code() == Some("SessionBusy")));
    assert_eq!(last_event_ids.lock().unwrap().len(), 2);
}
