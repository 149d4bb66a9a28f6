//! Tests of the event source.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use local::{Cloud, Options};

use crate::support::{eventually, quiet, start};

async fn send(cloud: &Cloud, body: &str) {
    let queue = &cloud.endpoints().finalize_queue;
    cloud.sqs().send_message().queue_url(queue).message_body(body).send().await.unwrap();
}

async fn dead_letters(cloud: &Cloud) -> Vec<String> {
    let queue = &cloud.endpoints().dead_letter_queue;
    let received = cloud.sqs().receive_message().queue_url(queue).max_number_of_messages(10);
    let received = received.send().await.unwrap().messages.unwrap_or_default();
    received.into_iter().map(|message| message.body.unwrap()).collect()
}

fn with_deliveries(folder: &Path) -> (Options, impl Fn() -> String) {
    let file = folder.join("deliveries");
    let name = file.to_str().unwrap().to_owned();
    let options = Options {
        visibility: Some(Duration::from_secs(1)),
        environment: BTreeMap::from([("DELIVERIES".to_owned(), name)]),
        ..quiet()
    };
    (options, move || std::fs::read_to_string(&file).unwrap_or_default())
}

pub(crate) async fn failed_message_is_retried_and_becomes_dead_letter() {
    let folder = tempfile::tempdir().unwrap();
    let (options, deliveries) = with_deliveries(folder.path());
    let cloud = start(options).await;
    cloud.pause_finalizer().await;
    send(&cloud, "good").await;
    send(&cloud, "fail").await;
    cloud.resume_finalizer().await;
    eventually("five deliveries", || deliveries().contains("fail 5")).await;
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut dead = Vec::new();
    while dead.is_empty() && Instant::now() < deadline {
        dead = dead_letters(&cloud).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(dead, ["fail"]);
    assert_eq!(deliveries(), "good 1\nfail 1\nfail 2\nfail 3\nfail 4\nfail 5\n");
}

pub(crate) async fn paused_event_source_delivers_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (options, deliveries) = with_deliveries(folder.path());
    let cloud = start(options).await;
    cloud.pause_finalizer().await;
    cloud.sweep().await.unwrap();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(deliveries(), "");
    cloud.resume_finalizer().await;
    eventually("the sweep is delivered", || !deliveries().is_empty()).await;
    assert!(deliveries().contains("sweep"));
}
