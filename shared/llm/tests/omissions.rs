//! A setting that a model refuses is left out from then on, and named in the log once.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod log;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use agent::model::model_settings::{Effort, ModelSettings};
use agent::model::{Chain, Instruction, Message, Model, Observer, Request};
use llm::{ApiKey, Client, Config, Error};
use log::Log;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// Returns the settings that the log names, with their models.
fn omitted(log: &Log) -> Vec<(String, String)> {
    let log = log.text();
    let lines = log.lines().filter(|line| line.contains("model setting not sent"));
    let fields = lines.map(|line| serde_json::from_str::<Value>(line).unwrap()["fields"].clone());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    fields.map(|fields| (text(&fields["model"]), text(&fields["setting"]))).collect()
}

/// A provider whose models refuse members of a request, each with this error.
async fn provider(refused: Vec<(&'static str, Value)>) -> (SocketAddr, Arc<Mutex<Vec<Value>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let requests = Arc::<Mutex<Vec<Value>>>::default();
    let seen = Arc::clone(&requests);
    tokio::spawn(async move {
        loop {
            let (mut connection, _) = listener.accept().await.unwrap();
            let request = read_body(&mut connection).await;
            let error = refused.iter().find(|(pointer, _)| request.pointer(pointer).is_some());
            let (status, body) = match error {
                Some((_, error)) => ("400 Bad Request", json!({ "error": error })),
                None => ("200 OK", reply()),
            };
            seen.lock().unwrap().push(request);
            let body = body.to_string();
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            connection.write_all((head + &body).as_bytes()).await.unwrap();
        }
    });
    (address, requests)
}

fn reply() -> Value {
    json!({ "object": "response", "id": "r", "status": "completed", "output": [
        { "type": "message", "content": [{ "type": "output_text", "text": "Yes." }] },
    ] })
}

async fn read_body(connection: &mut TcpStream) -> Value {
    let mut read = Vec::new();
    loop {
        let mut piece = [0; 4_096];
        let count = connection.read(&mut piece).await.unwrap();
        read.extend(piece.iter().take(count));
        let text = String::from_utf8_lossy(&read);
        let Some((_, body)) = text.split_once("\r\n\r\n") else { continue };
        if let Ok(body) = serde_json::from_str(body) {
            return body;
        }
    }
}

/// Asks each model once, with the same client. Returns whether all answered.
async fn ask(address: SocketAddr, settings: &ModelSettings, models: &[&str]) -> (Result<(), Error>, Log) {
    let config = Config { base_url: format!("http://{address}/v1"), ..Config::default() };
    let client = Client::new(config, ApiKey::new("key")).unwrap();
    let log = Log::default();
    let writer = log.clone();
    let lines = tracing_subscriber::fmt().json().with_writer(move || writer.clone()).finish();
    let logging = tracing::subscriber::set_default(lines);
    let mut answered = Ok(());
    for model in models {
        let request = Request {
            provider: None,
            model: (*model).to_owned(),
            settings: settings.clone(),
            identifiers: None,
            store: true,
            chain: Chain::Initial { system: "Help.".to_owned(), parts: Vec::new(), history: Vec::new() },
            message: Message {
                instruction: Instruction::User("Hi.".to_owned()),
                ..Message::in_mode("general")
            },
            tools: Vec::new(),
            tool_choice: None,
            wants_reasoning: false,
        };
        let reply = client.reply(&request, Duration::from_secs(20), &mut Observer::new(&mut |_| {})).await;
        answered = answered.and(reply.map(|_| ()));
    }
    drop(logging);
    (answered, log)
}

#[tokio::test]
async fn refused_setting_is_left_out_from_then_on_and_logged_once() {
    let deprecated = json!({ "message": "`temperature` is deprecated for this model." });
    let unsupported =
        json!({ "param": "reasoning.effort", "code": "unsupported_parameter", "message": "No." });
    let (address, requests) =
        provider(vec![("/temperature", deprecated), ("/reasoning/effort", unsupported)]).await;
    let settings = ModelSettings {
        temperature: Some(0.5),
        reasoning_effort: Some(Effort::Low),
        max_output_tokens: Some(99),
        ..ModelSettings::default()
    };
    let (answered, log) = ask(address, &settings, &["a", "a", "b", "a"]).await;
    assert_eq!(answered, Ok(()));
    let sent: Vec<_> = requests
        .lock()
        .unwrap()
        .iter()
        .map(|request| {
            assert_eq!(request["max_output_tokens"], 99);
            (
                request["model"].as_str().unwrap().to_owned(),
                request.get("temperature").is_some(),
                request.get("reasoning").is_some(),
            )
        })
        .collect();
    let learns =
        |model: &str| [(true, true), (false, true), (false, false)].map(|(t, r)| (model.to_owned(), t, r));
    let knows = ("a".to_owned(), false, false);
    assert_eq!(sent, [learns("a").to_vec(), vec![knows.clone()], learns("b").to_vec(), vec![knows]].concat());
    let named = ["a", "b"]
        .map(|model| ["Temperature", "ReasoningEffort"].map(|it| (model.to_owned(), it.to_owned())));
    assert_eq!(omitted(&log), named.concat());
}

#[tokio::test]
async fn refused_value_and_required_setting_fail_the_call() {
    let value = json!({ "param": "reasoning.effort", "code": "unsupported_value", "message": "Unsupported value: 'max' is not supported." });
    let limit = json!({ "param": "max_output_tokens", "code": "unsupported_parameter", "message": "Unsupported parameter." });
    for (refused, settings) in [
        (
            ("/reasoning/effort", value),
            ModelSettings { reasoning_effort: Some(Effort::Max), ..ModelSettings::default() },
        ),
        (
            ("/max_output_tokens", limit),
            ModelSettings { max_output_tokens: Some(99), ..ModelSettings::default() },
        ),
    ] {
        let (address, requests) = provider(vec![refused]).await;
        let (answered, log) = ask(address, &settings, &["a"]).await;
        assert_eq!(answered, Err(Error::ParameterRejected { status: 400 }));
        assert_eq!((requests.lock().unwrap().len(), omitted(&log)), (1, Vec::new()));
    }
}
