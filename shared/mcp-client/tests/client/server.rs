//! A server whose responses, cuts and silence a test sets, byte for byte. It counts the requests that arrive whole.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use mcp_client::{Client, Observer, Progress};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// A request that arrived whole.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
}

impl Request {
    /// The method of JSON-RPC, or that of HTTP for a request without a body.
    pub(crate) fn name(&self) -> &str {
        self.body["method"].as_str().unwrap_or(&self.method)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// A response to this request, as JSON.
    pub(crate) fn result(&self, result: &Value) -> Reply {
        json_response(200, &json!({ "jsonrpc": "2.0", "id": self.body["id"], "result": result }))
    }

    /// An error in response to this request.
    pub(crate) fn error(&self, status: u16, code: i64, data: &Value) -> Reply {
        let error = json!({ "code": code, "message": "no", "data": data });
        json_response(status, &json!({ "jsonrpc": "2.0", "id": self.body["id"], "error": error }))
    }

    /// An event with a response to this request.
    pub(crate) fn event(&self, result: &Value) -> String {
        format!("data: {}\n\n", json!({ "jsonrpc": "2.0", "id": self.body["id"], "result": result }))
    }
}

/// The bytes that a request gets, and the end of its connection.
pub(crate) enum Reply {
    /// The bytes, and then the end of the connection.
    Bytes(Vec<u8>),
    /// Silence until the client leaves.
    Silence,
}

pub(crate) fn response(status: u16, headers: &str, body: &str) -> Reply {
    Reply::Bytes(format!("HTTP/1.1 {status} Reason\r\nconnection: close\r\n{headers}\r\n{body}").into_bytes())
}

pub(crate) fn json_response(status: u16, body: &Value) -> Reply {
    let body = body.to_string();
    let headers = format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
    response(status, &headers, &body)
}

pub(crate) fn events(events: &str) -> Reply {
    response(200, "content-type: text/event-stream\r\n", events)
}

pub(crate) fn accepted() -> Reply {
    response(202, "content-length: 0\r\n", "")
}

pub(crate) fn text(text: &str) -> Value {
    json!({ "resultType": "complete", "content": [{ "type": "text", "text": text }] })
}

type Script = dyn Fn(&Request) -> Reply + Send + Sync;

pub(crate) struct Server {
    pub(crate) url: String,
    requests: watch::Receiver<Vec<Request>>,
    /// The numbers of connections that began and ended.
    connections: watch::Receiver<(usize, usize)>,
}

impl Server {
    pub(crate) async fn start(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let (all, requests) = watch::channel(Vec::new());
        let (count, connections) = watch::channel((0, 0));
        let (count, script, all) = (Arc::new(count), Arc::new(script), Arc::new(all));
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                count.send_modify(|(began, _)| *began += 1);
                let (count, script, all) = (Arc::clone(&count), Arc::clone(&script), Arc::clone(&all));
                tokio::spawn(async move {
                    // A client that leaves early is part of some tests.
                    let _ = serve(stream, &*script, &all).await;
                    count.send_modify(|(_, ended)| *ended += 1);
                });
            }
        });
        Self { url, requests, connections }
    }

    /// The client of this server.
    pub(crate) fn client(&self) -> Client {
        let http = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap();
        Client::new(&http, self.url.parse().unwrap(), None, Duration::from_secs(60)).unwrap()
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.borrow().clone()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.requests().iter().map(|request| request.name().to_owned()).collect()
    }

    /// Waits until a request with this name has arrived.
    pub(crate) async fn arrived(&self, name: &str) {
        let has = |all: &Vec<Request>| all.iter().any(|request| request.name() == name);
        self.requests.clone().wait_for(has).await.unwrap();
    }

    /// Waits until a number of connections have ended, so that nothing more arrives on them.
    pub(crate) async fn ended(&self, number: usize) {
        self.connections.clone().wait_for(|(_, ended)| *ended >= number).await.unwrap();
    }
}

async fn serve(
    mut stream: TcpStream,
    script: &Script,
    all: &watch::Sender<Vec<Request>>,
) -> std::io::Result<()> {
    let Some(request) = read(&mut stream).await? else { return Ok(()) };
    all.send_modify(|all| all.push(request.clone()));
    match script(&request) {
        Reply::Bytes(bytes) => {
            stream.write_all(&bytes).await?;
            stream.shutdown().await?;
        }
        Reply::Silence => {}
    }
    while stream.read(&mut [0; 1024]).await? > 0 {}
    Ok(())
}

/// Reads a request, or nothing if the client leaves before its end.
async fn read(stream: &mut TcpStream) -> std::io::Result<Option<Request>> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    };
    let text = String::from_utf8(bytes[..head].to_vec()).unwrap();
    let mut lines = text.split("\r\n");
    let method = lines.next().unwrap().split(' ').next().unwrap().to_owned();
    let headers: BTreeMap<String, String> = lines
        .map(|line| line.split_once(": ").unwrap())
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = match (method.as_str(), headers.get("content-length")) {
        ("POST", length) => length.expect("a request has a length").parse().unwrap(),
        _ => 0,
    };
    let mut body = bytes.split_off(head + 4);
    while body.len() < length {
        if stream.read_buf(&mut body).await? == 0 {
            return Ok(None);
        }
    }
    let body = if length == 0 { Value::Null } else { serde_json::from_slice(&body).unwrap() };
    Ok(Some(Request { method, headers, body }))
}

/// An observer that allows a call, and collects its progress.
#[derive(Default)]
pub(crate) struct Allow(Mutex<Vec<Progress>>);

impl Allow {
    pub(crate) fn seen(&self) -> Vec<Progress> {
        self.0.lock().unwrap().clone()
    }
}

impl Observer for Allow {
    fn may_send(&self) -> bool {
        true
    }

    fn progress(&self, progress: Progress) {
        self.0.lock().unwrap().push(progress);
    }
}

/// An observer that refuses a call.
pub(crate) struct Refuse;

impl Observer for Refuse {
    fn may_send(&self) -> bool {
        false
    }
}
