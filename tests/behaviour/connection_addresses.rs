//! Addresses that no connection may reach, through the API: when a connection is written, and when a tool is called.

use contracts::paths::{CONNECTIONS, tool_trial};
use reqwest::Method;
use serde_json::{Value, json};

use crate::agents::put;
use crate::connections::{Target, tickets};
use crate::export::operator;
use crate::support::{Answer, Client, System};

fn open_at(url: &str) -> Value {
    let mut connection = tickets("http://127.0.0.1");
    connection["Url"] = json!(url);
    connection["Authentication"] = json!({ "Scheme": "none" });
    connection
}

async fn refused(olga: &Client, url: &str) -> String {
    let answer = put(olga, &CONNECTIONS.context("inner"), &open_at(url)).await;
    assert_eq!(answer.status, 400, "{url}: {}", answer.text);
    message(&answer)
}

fn message(answer: &Answer) -> String {
    answer.json()["Errors"][0]["Message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn url_of_an_inner_address_is_refused_when_it_is_written() {
    let system = System::start().await;
    let olga = operator(&system, "acme");
    for url in [
        "https://169.254.169.254/latest/meta-data",
        "https://169.254.170.2/",
        "https://[fd00:ec2::254]/",
        "https://10.0.0.1/",
        "https://192.168.0.1/",
        "https://[::ffff:169.254.169.254]/",
        "https://[64:ff9b::a9fe:a9fe]/",
        "https://0xa9fea9fe/",
        "https://0.0.0.0/",
        "http://0.0.0.0:8080/",
    ] {
        let message = refused(&olga, url).await;
        assert!(message.contains("Url: must not lead to"), "{url}: {message}");
    }
    for (url, rule) in [
        ("https://metadata.google.internal/", "a host of the public internet"),
        ("https://metadata/", "a host of the public internet"),
        ("https://user:secret@example.com/", "must not contain a user"),
        ("http://example.com/", "must begin with https://"),
        ("https://example.com:6379/", "must use port 443"),
        ("file:///etc/passwd", "must begin with https://"),
    ] {
        let message = refused(&olga, url).await;
        assert!(message.contains(rule) && !message.contains("secret@"), "{url}: {message}");
    }
    assert_eq!(olga.get(&CONNECTIONS.context("inner")).await.status, 404, "nothing was written");
}

#[tokio::test]
async fn ports_of_the_local_cloud_are_refused_and_others_are_reached() {
    let (system, target) = (System::start().await, Target::start().await);
    let olga = operator(&system, "acme");
    let endpoints = system.cloud.endpoints();
    for url in [
        &endpoints.api,
        &endpoints.dynamodb,
        &endpoints.s3,
        &endpoints.sqs,
        &endpoints.secrets,
        &endpoints.model,
    ] {
        let port = url.rsplit(':').next().unwrap().split('/').next().unwrap();
        for host in ["127.0.0.1", "localhost", "[::1]", "127.1"] {
            let message = refused(&olga, &format!("http://{host}:{port}/")).await;
            assert!(message.contains("belongs to the service itself"), "{host}:{port}: {message}");
        }
    }
    put(&olga, &CONNECTIONS.context("inner"), &open_at(&target.url)).await.result();
}

/// A connection that was valid when it was written is checked again with every call, by the rules of that time.
#[tokio::test]
async fn stored_url_is_checked_again_when_a_tool_is_called() {
    let target = Target::start().await;
    let folder = tempfile::tempdir().unwrap();
    let data = || local::Data::Folder(folder.path().to_owned());
    let system = System::with(local::Options { data: data(), ..crate::support::options() }).await;
    put(&operator(&system, "acme"), &CONNECTIONS.context("inner"), &open_at(&target.url)).await.result();
    system.cloud.shutdown().await;
    let port = target.url.rsplit(':').next().unwrap();
    let mut later = local::Options { data: data(), ..crate::support::options() };
    later.environment.insert("CONNECTION_OWN_PORTS".to_owned(), port.to_owned());
    let system = System::with(later).await;
    let olga = operator(&system, "acme");
    let trial = json!({ "Tool": "broken", "ArgumentsJson": "{}" }).to_string();
    let trial = olga.send(Method::POST, &tool_trial("inner"), Some(trial)).await.result();
    assert_eq!(trial["Outcome"], "not_sent", "{trial}");
    assert!(trial["Message"].as_str().unwrap().contains("belongs to the service itself"), "{trial}");
    assert_eq!(target.received().len(), 0);
}
