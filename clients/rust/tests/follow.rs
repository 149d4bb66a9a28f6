//! Turns are followed over connections that break.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test")]

use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use client::{Api, Asked, Error, Event, Position, Retry, Token};
use serde_json::{Value, json};

/// What a server answers to its requests, one after the other, and the `Last-Event-ID` that each one said.
async fn server(answers: Vec<Response>) -> (String, Arc<Mutex<Vec<Option<String>>>>) {
    let said = Arc::new(Mutex::new(Vec::new()));
    let answers = Arc::new(Mutex::new(answers.into_iter()));
    let heard = said.clone();
    let app = axum::Router::new().fallback(async move |request: Request| {
        let last = request.headers().get("last-event-id").map(|id| id.to_str().unwrap().to_owned());
        heard.lock().unwrap().push(last);
        answers.lock().unwrap().next().unwrap_or_else(|| StatusCode::NOT_FOUND.into_response())
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    (base, said)
}

fn stream(text: &'static str) -> Response {
    Response::builder().header("content-type", "text/event-stream").body(Body::from(text)).unwrap()
}

async fn followed(base: &str) -> (Result<Value, Error>, Vec<Event>) {
    let api = Api::new(base, Token::Given("t".to_owned())).unwrap();
    let asked = Asked::post("/api/ai/agent/execute", &json!({}));
    let mut events = Vec::new();
    let result = api.follow(&asked, &mut Position::default(), &mut |event| events.push(event)).await;
    (result, events)
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_taken_up_after_the_last_event() {
    let (base, said) = server(vec![
        stream("id: 1\nevent: delta\ndata: {\"Index\":0,\"Text\":\"on\"}\n\nid: 2\nevent: delta\ndata: {\"Ind"),
        stream("id: 1\nevent: delta\ndata: {\"Index\":0,\"Text\":\"on\"}\n\nid: 2\nevent: delta\ndata: {\"Index\":2,\"Text\":\"e\"}\n\n"),
        stream("id: 3\nevent: result\ndata: {\"Successful\":true,\"Result\":{\"Kind\":\"final\"},\"Errors\":[]}\n\n"),
    ])
    .await;
    let (result, events) = followed(&base).await;
    assert_eq!(result, Ok(json!({"Kind": "final"})));
    let texts: Vec<_> = events.iter().filter(|event| matches!(event, Event::Delta(_))).collect();
    assert_eq!(texts, [&Event::Delta("on".to_owned()), &Event::Delta("e".to_owned())]);
    assert_eq!(*said.lock().unwrap(), [None, Some("1".to_owned()), Some("2".to_owned())]);
}

#[tokio::test]
async fn a_refusal_that_passes_is_waited_out_and_the_turns_own_failure_is_its_end() {
    let failed = |code: &str, retry: &str| {
        json!({"Successful": false, "Errors": [{"ErrorCode": code, "Message": "m", "Retry": retry}]})
            .to_string()
    };
    let busy = (StatusCode::CONFLICT, failed("SessionBusy", "same_request")).into_response();
    let end = format!("id: 4\nevent: result\ndata: {}\n\n", failed("ModelTimedOut", "same_request"));
    let (base, said) = server(vec![busy, stream(end.leak())]).await;
    let (result, events) = followed(&base).await;
    let error = result.unwrap_err();
    assert_eq!((error.code(), error.retry()), (Some("ModelTimedOut"), Retry::SameRequest));
    assert!(matches!(&events[..], [Event::Retry(refused)] if refused.code() == Some("SessionBusy")));
    assert_eq!(said.lock().unwrap().len(), 2);
}
