//! Servers as they misbehave, over HTTP: the recorded bytes of gateways and local servers, under each header and
//! compression. Each reply is read as the published one would be.

// Clippy allows `unwrap` and indexing only in functions marked as tests, and not in their helpers.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::io::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use agent::model::model_settings::ModelSettings;
use agent::model::{Chain, Instruction, Message, Model, Observer, Reply, Request};
use llm::retry::Policy;
use llm::{ApiKey, Client, Config, Error, Wire};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A server, and the bytes that it sends.
struct Server {
    name: &'static str,
    wire: Wire,
    body: &'static [u8],
    /// True if the reply comes as one document.
    is_buffered: bool,
}

macro_rules! server {
    ($name:literal, $wire:ident, $file:literal) => {
        Server {
            name: $name,
            wire: Wire::$wire,
            body: include_bytes!($file),
            is_buffered: $file.as_bytes()[$file.len() - 1] == b'n',
        }
    };
}

const SERVERS: [Server; 9] = [
    server!("vLLM", Responses, "vllm.sse"),
    server!("LiteLLM", ChatCompletions, "litellm.sse"),
    server!("JavaScript gateway", ChatCompletions, "gateway.sse"),
    server!("Gemini through LiteLLM", ChatCompletions, "gemini_litellm.sse"),
    server!("llama.cpp", ChatCompletions, "llamacpp.json"),
    server!("gateway of Anthropic's API", AnthropicMessages, "messages_gateway.sse"),
    server!("gateway of Anthropic's API", AnthropicMessages, "messages.json"),
    server!("Responses API without streaming", Responses, "responses.json"),
    server!("Converse API without streaming", BedrockConverse, "converse.json"),
];

/// Serves these bytes to every request.
async fn serve(status: u16, headers: &[(&str, &str)], body: &[u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut response = format!("HTTP/1.1 {status} Status\r\nconnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "transfer-encoding") {
        response.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    for (name, value) in headers {
        response.push_str(&format!("{name}: {value}\r\n"));
    }
    let response = [response.as_bytes(), b"\r\n", body].concat();
    tokio::spawn(async move {
        loop {
            let (mut connection, _) = listener.accept().await.unwrap();
            let (mut request, mut piece) = (Vec::new(), [0; 8_192]);
            // The body ends with the only document of the request.
            while !request.ends_with(b"}") {
                let count = connection.read(&mut piece).await.unwrap();
                request.extend_from_slice(&piece[..count]);
            }
            connection.write_all(&response).await.unwrap();
        }
    });
    address
}

/// Asks the server. Returns the reply and the emitted text.
async fn ask(
    wire: Wire,
    status: u16,
    headers: &[(&str, &str)],
    body: &[u8],
) -> (Result<Reply, Error>, String) {
    let base_url = format!("http://{}/v1", serve(status, headers, body).await);
    let retry = Policy { retries: 0, ..Policy::default() };
    let client =
        Client::new(Config { base_url, retry, ..Config::for_wire(wire) }, ApiKey::new("key")).unwrap();
    let request = Request {
        provider: None,
        model: "m".to_owned(),
        settings: ModelSettings::default(),
        identifiers: None,
        store: false,
        chain: Chain::Initial { system: "Be brief.".to_owned(), parts: Vec::new(), history: Vec::new() },
        message: Message {
            instruction: Instruction::User("Look.".to_owned()),
            ..Message::in_mode("general")
        },
        tools: Vec::new(),
        tool_choice: None,
        wants_reasoning: false,
    };
    let mut text = String::new();
    let mut deltas = |delta: &str| text.push_str(delta);
    let reply = client.reply(&request, Duration::from_secs(20), &mut Observer::new(&mut deltas)).await;
    (reply, text)
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn zstd(body: &[u8]) -> Vec<u8> {
    zstd::encode_all(body, 3).unwrap()
}

fn assert_answered(reply: (Result<Reply, Error>, String), what: &str) {
    let (reply, text) = reply;
    let reply = reply.unwrap_or_else(|error| panic!("{what}: {error:?}"));
    assert_eq!((reply.text.as_str(), text.as_str()), ("Let me look 👍.", "Let me look 👍."), "{what}");
    let [call] = reply.calls.as_slice() else { panic!("{what}: {:?}", reply.calls) };
    let arguments: serde_json::Value = serde_json::from_str(&call.arguments).unwrap();
    assert_eq!((call.call_id.as_str(), call.name.as_str()), ("call_1", "look"), "{what}");
    assert_eq!(arguments, serde_json::json!({ "at": 1 }), "{what}");
}

#[tokio::test]
async fn replies_of_misbehaving_servers_are_read_under_any_header() {
    for Server { name, wire, body, is_buffered } in SERVERS {
        for media_type in ["text/event-stream", "application/json", "text/plain; charset=utf-8", ""] {
            let headers = [("content-type", media_type)];
            let headers = if media_type.is_empty() { &[][..] } else { &headers };
            let what = format!("{name}, buffered: {is_buffered}, {media_type}");
            assert_answered(ask(wire, 200, headers, body).await, &what);
        }
    }
}

#[tokio::test]
async fn compressed_replies_are_read_whatever_the_header_says() {
    for Server { name, wire, body, is_buffered } in SERVERS {
        for (encoding, body) in [
            ("gzip", gzip(body)),
            ("", gzip(body)),
            ("zstd", zstd(body)),
            ("", zstd(body)),
            ("gzip", body.to_vec()),
            ("br", body.to_vec()),
        ] {
            let headers = [("content-encoding", encoding)];
            let headers = if encoding.is_empty() { &[][..] } else { &headers };
            let what = format!("{name}, buffered: {is_buffered}, {encoding}");
            assert_answered(ask(wire, 200, headers, &body).await, &what);
        }
    }
    let brotli = include_bytes!("llamacpp.json.br");
    assert_answered(ask(Wire::ChatCompletions, 200, &[("content-encoding", "br")], brotli).await, "br");
}

#[tokio::test]
async fn compressed_error_is_classified() {
    let body = br#"{"error":{"message":"m","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}"#;
    let event = [b"event: error\ndata: ".as_slice(), body, b"\n\n"].concat();
    let brotli = include_bytes!("overflow.json.br").as_slice();
    for wire in Wire::ALL {
        for (encoding, body) in
            [("gzip", gzip(body).as_slice()), ("zstd", &zstd(body)), ("br", brotli), ("identity", &event)]
        {
            let (reply, _) = ask(wire, 400, &[("content-encoding", encoding)], body).await;
            assert_eq!(reply, Err(Error::ContextTooLong), "{wire:?} {encoding}");
        }
    }
}

#[tokio::test]
async fn connection_that_breaks_after_the_end_costs_nothing() {
    let chat = b"data: {\"choices\":[{\"delta\":{\"content\":\"Yes.\"},\"finish_reason\":\"stop\"}]}\n\n";
    let messages = b"event: content_block_delta\ndata: {\"delta\":{\"type\":\"text_delta\",\"text\":\"Yes.\"}}\n\nevent: message_delta\ndata: {\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n";
    for (wire, body) in [(Wire::ChatCompletions, chat.as_slice()), (Wire::AnthropicMessages, messages)] {
        // A chunk that announces more bytes than come.
        let body = [format!("{:x}\r\n", body.len()).as_bytes(), body, b"\r\nfff\r\n"].concat();
        let (reply, _) = ask(wire, 200, &[("transfer-encoding", "chunked")], &body).await;
        assert_eq!(reply.map(|reply| reply.text).as_deref(), Ok("Yes."), "{wire:?}");
    }
}

#[tokio::test]
async fn terminal_event_beyond_the_limit_costs_nothing_after_the_text() {
    let streamed = String::from_utf8(include_bytes!("vllm.sse").to_vec()).unwrap();
    let (start, end) = streamed.split_once("event: response.completed\n").unwrap();
    let padding = format!("\"instructions\":\"{}\",\"id\"", "x".repeat(9 << 20));
    for kind in ["event: response.completed\n", ""] {
        let end = end.replacen("\"id\"", &padding, 1).replacen(
            "{\"response\"",
            "{\"type\":\"response.completed\",\"response\"",
            1,
        );
        let body = format!("{start}{kind}{end}");
        assert_answered(ask(Wire::Responses, 200, &[], body.as_bytes()).await, kind);
    }
    let cut = format!("event: response.completed\n{}", end.replacen("\"id\"", &padding, 1));
    assert_eq!(
        ask(Wire::Responses, 200, &[], cut.as_bytes()).await.0,
        Err(Error::Malformed),
        "nothing was said"
    );
}
