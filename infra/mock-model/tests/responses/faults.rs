//! Scripted failures.

use http_body_util::BodyExt;
use serde_json::json;

use crate::{Server, asking, json_of, types};

#[tokio::test]
async fn scripted_http_error_repeats_with_its_headers() {
    let server = Server::new();
    let body = asking(
        r#"[[script: status 429 code slow_down retry-after 1 header x-request-id "r1" times 2; say "ok"]]"#,
    );
    for _ in 0..2 {
        let response = server.send(&body).await;
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()["retry-after"], "1");
        assert_eq!(response.headers()["x-request-id"], "r1");
        let error = json_of(response).await;
        assert_eq!(error["error"]["code"], "slow_down");
        assert_eq!(error["error"]["type"], "rate_limit_error");
    }
    server.reply(&body).await;
    assert_eq!(server.send(&body).await.status(), 429);
}

#[tokio::test]
async fn lost_chain_restarts_with_an_initial_request() {
    let server = Server::new();
    let first = server.reply(&asking("Hello.")).await;
    let mut chained = asking(r#"[[script: forget; say "ok"]]"#);
    server.reply(&chained).await;
    chained["previous_response_id"] = first["id"].clone();
    let error = json_of(server.send(&chained).await).await;
    assert_eq!(error["error"]["code"], "previous_response_not_found");
}

#[tokio::test]
async fn stream_ends_as_scripted() {
    let server = Server::new();
    for (script, last) in [
        ("fail", "response.failed"),
        ("incomplete", "response.incomplete"),
        ("error rate_limit_exceeded", "error"),
        ("unended", "response.output_item.done"),
    ] {
        let events = server.events(asking(&format!("[[script: say \"Half.\"; {script}]]"))).await;
        assert_eq!(types(&events).last(), Some(&last));
    }
    let events = server.events(asking("[[script: say \"Half.\"; incomplete content_filter]]")).await;
    assert_eq!(
        events.last().unwrap()["response"]["incomplete_details"],
        json!({ "reason": "content_filter" })
    );
}

#[tokio::test]
async fn stream_is_cut_as_scripted() {
    let server = Server::new();
    let whole = server.events(asking("[[script: words 9]]")).await;
    let cut = server.events(asking("[[script: words 9; cut after 5 events]]")).await;
    assert_eq!(cut.len(), 5);
    assert_eq!(types(&cut), types(&whole[..5]));

    let mut body = asking("[[script: words 9; cut after 10 bytes]]");
    body["stream"] = json!(true);
    let response = server.send(&body).await;
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(bytes, "event: res");

    let mut body = asking("[[script: words 9; reset after 5 events]]");
    body["stream"] = json!(true);
    let response = server.send(&body).await;
    assert!(response.into_body().collect().await.is_err());
}

#[tokio::test]
async fn unknown_and_malformed_events_are_sent_on_request() {
    let server = Server::new();
    let events = server.events(asking("[[script: unknown event; say \"ok\"]]")).await;
    assert!(types(&events).contains(&"response.novelty.appeared"));

    let mut body = asking("[[script: malformed]]");
    body["stream"] = json!(true);
    let bytes = server.send(&body).await.into_body().collect().await.unwrap();
    let text = String::from_utf8(bytes.to_bytes().to_vec()).unwrap();
    assert!(text.contains("data: {\"type\":\"respon\n"), "{text}");
}

#[tokio::test]
async fn early_disconnects_are_counted() {
    let server = Server::new();
    let mut body = asking("[[script: say \"Half.\"; hang 5m]]");
    body["stream"] = json!(true);
    let mut response = server.send(&body).await.into_body();
    response.frame().await.unwrap().unwrap();
    drop(response);
    assert_eq!(server.recorder.abandoned(), 1);
}
