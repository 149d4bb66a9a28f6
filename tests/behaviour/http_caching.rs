//! HTTP caching of sessions and turns: `ETag`, `If-None-Match` and `Cache-Control` (RFC 9110, RFC 9111).

use reqwest::Method;
use serde_json::json;

use crate::support::{Answer, Client, System, reading_tool, session_path, turn, turn_in, turn_path};

async fn having(client: &Client, path: &str, tags: &str) -> Answer {
    client.raw(Method::GET, path, &[("if-none-match", tags)], Vec::new()).await
}

const FOR_EVER: &str = "private, max-age=31536000, immutable";

#[tokio::test]
async fn finished_turn_is_immutable_and_revalidates_by_etag() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("hello");
    ada.execute(&request).await.result();
    for path in [turn_path(&request), format!("{}/summary", turn_path(&request))] {
        let first = ada.get(&path).await;
        let tag = first.header("etag").unwrap().to_owned();
        assert_eq!((first.status, first.header("cache-control")), (200, Some(FOR_EVER)));
        assert_eq!(first.header("vary"), Some("Authorization, Accept"));
        for had in [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}"), "*".to_owned()] {
            let again = having(&ada, &path, &had).await;
            assert_eq!((again.status, again.text.as_str()), (304, ""), "{had}");
            assert_eq!(
                (again.header("etag"), again.header("cache-control")),
                (Some(tag.as_str()), Some(FOR_EVER))
            );
        }
        let other = having(&ada, &path, "\"other\"").await;
        assert_eq!((other.status, &other.text), (200, &first.text));
    }
    // Nobody is told by a tag what is there.
    let eve = system.client("rival", "eve");
    assert_eq!(having(&eve, &turn_path(&request), "*").await.status, 404);
    assert_eq!(eve.get(&turn_path(&request)).await.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn finalization_changes_no_etag() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let first = turn("hello");
    ada.execute(&first).await.result();
    system.cloud.pause_finalizer().await;
    let mode = "call agent_change_mode {\"mode\":\"ddr_authoring\",\"branch\":false,\"reason\":\"r\"}; then; say \"Done.\"";
    let second = turn_in(first["SessionId"].as_str().unwrap(), &format!("change [[script: {mode}]]"));
    ada.execute(&second).await.result();
    let tags = async || {
        let (turn, session) = (ada.get(&turn_path(&second)).await, ada.get(&session_path(&first)).await);
        assert_eq!(session.header("cache-control"), Some("private, no-cache"));
        (turn.header("etag").unwrap().to_owned(), session.header("etag").unwrap().to_owned(), session.text)
    };
    let settled = tags().await;
    assert!(settled.2.contains("ddr_authoring"), "{}", settled.2);
    system.cloud.resume_finalizer().await;
    system.until_finalized(first["SessionId"].as_str().unwrap(), 2).await;
    assert_eq!(tags().await, settled);
    assert_eq!(having(&ada, &session_path(&first), &settled.1).await.status, 304);
    // Another turn is another session.
    ada.execute(&turn_in(first["SessionId"].as_str().unwrap(), "more")).await.result();
    assert_eq!(having(&ada, &session_path(&first), &settled.1).await.status, 200);
}

#[tokio::test]
async fn open_turn_and_last_turn_are_revalidated() {
    let system = System::start().await;
    system.put_context(json!({"ClientTools": [reading_tool()]})).await;
    let ada = system.client("acme", "ada");
    let waits = crate::support::in_context("Wait [[script: call workspace_read_file {\"path\":\"a\"}]]");
    ada.execute(&waits).await.result();
    let read = ada.get(&turn_path(&waits)).await;
    assert_eq!(read.header("cache-control"), Some("private, no-cache"));
    let tag = read.header("etag").unwrap();
    ada.post(&format!("{}/cancel", turn_path(&waits)), String::new()).await.result();
    assert_eq!(having(&ada, &turn_path(&waits), tag).await.status, 200);
    let last = ada.get(&format!("{}/turns/last", session_path(&waits))).await;
    assert_eq!(last.header("cache-control"), Some("private, no-cache"));
}
