//! Connection errors are logged with their cause, without the address and the key.

#![allow(clippy::unwrap_used)]

mod log;

use std::time::Duration;

use agent::model::model_settings::ModelSettings;
use agent::model::{Chain, Instruction, Message, Model, Observer, Request};
use llm::{ApiKey, Client, Config, Error, retry::Policy};
use log::Log;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// Calls the provider at `address`. Returns the reply and the log.
async fn call(address: std::net::SocketAddr) -> (Result<agent::model::Reply, Error>, String) {
    let base = format!("http://user:secret-word@{address}/secret-path");
    let retry = Policy { retries: 0, ..Policy::default() };
    let client =
        Client::new(Config { base_url: base, retry, ..Config::default() }, ApiKey::new("secret-key"))
            .unwrap();
    let request = Request {
        provider: None,
        model: "scripted".to_owned(),
        settings: ModelSettings::default(),
        identifiers: None,
        store: true,
        chain: Chain::Initial { system: "secret".to_owned(), parts: Vec::new(), history: Vec::new() },
        message: Message {
            instruction: Instruction::User("secret".to_owned()),
            ..Message::in_mode("general")
        },
        tools: Vec::new(),
        tool_choice: None,
        wants_reasoning: false,
    };
    let log = Log::default();
    let writer = log.clone();
    let lines = tracing_subscriber::fmt().json().with_writer(move || writer.clone()).finish();
    let logging = tracing::subscriber::set_default(lines);
    let reply = client.reply(&request, Duration::from_secs(20), &mut Observer::new(&mut |_| {})).await;
    drop(logging);
    (reply, log.text())
}

#[tokio::test]
async fn unreachable_provider_is_logged_with_the_cause() {
    let closed_port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let (reply, log) = call(closed_port).await;
    assert_eq!(reply, Err(Error::UNAVAILABLE));
    assert!(log.contains("model provider unreachable") && log.contains("onnection refused"), "{log}");
    assert!(!log.contains("secret"), "{log}");
}

#[tokio::test]
async fn interrupted_reply_is_logged_with_the_cause() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        let _ = connection.read(&mut [0; 4096]).await.unwrap();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 1000\r\n\r\n";
        connection.write_all(format!("{head}data: secret").as_bytes()).await.unwrap();
    });
    let (reply, log) = call(address).await;
    assert_eq!(reply, Err(Error::Malformed));
    assert!(log.contains("model reply interrupted"), "{log}");
    assert!(log.contains("error decoding response body: "), "the cause is logged: {log}");
    assert!(!log.contains("secret"), "{log}");
}
