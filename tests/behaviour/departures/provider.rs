//! A provider that answers the first request of each row with its reply, and every later one as the mock model does.
//! The mock model checks all requests: each has to fit the published schema and the rules of its API.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use mock_model::Recorder;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::replies::{Api, Draft, Part};

const MAX_BODY_BYTES: usize = 32 << 20;

/// The most characters of a call's id. Anthropic's API has no limit, and OpenAI's and AWS's have this one.
const MAX_ID_CHARS: usize = 64;

/// The number of a session, and of a row in it.
pub type RowId = (usize, usize);

/// A provider of one API.
pub struct Provider {
    api: Api,
    pub base: String,
    sessions: Mutex<HashMap<usize, Session>>,
}

/// The replies and requests of a session.
#[derive(Default)]
struct Session {
    /// The reply to the first request of the newest row.
    reply: Option<Draft>,
    parts: Vec<Part>,
    /// Its ids of calls that no API has, each with a valid one: a provider takes back what it gave.
    odd_ids: BTreeMap<String, String>,
    /// The input of the newest row's first request, which a chained one continues.
    input: Vec<Value>,
    requests: Vec<Value>,
    faults: Vec<String>,
}

/// Returns the id of the response of a row.
pub fn response_id((session, row): RowId) -> String {
    format!("resp_row_{session}/{row}")
}

impl Provider {
    /// Starts a provider.
    pub async fn start(api: Api) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/v1", listener.local_addr().unwrap());
        let provider = Arc::new(Self { api, base, sessions: Mutex::default() });
        let router = mock_wires::router("openai".parse().unwrap(), Recorder::default())
            .layer(middleware::from_fn_with_state(Arc::clone(&provider), answer));
        tokio::spawn(async move { axum::serve(listener, router).await });
        provider
    }

    /// Sets the reply to the first request of a session's next row.
    pub fn expect(&self, session: usize, reply: Draft, parts: &[Part]) {
        self.with(session, |session| {
            let ids = parts.iter().filter_map(|part| match part {
                Part::Call(id, ..) if !id.is_empty() && !is_valid_id(id) => Some(id.clone()),
                _ => None,
            });
            for id in ids {
                let valid = format!("given_{}", session.odd_ids.len());
                session.odd_ids.entry(id).or_insert(valid);
            }
            (session.reply, session.parts) = (Some(reply), parts.to_vec());
        });
    }

    /// Returns the requests of a session, as they were received.
    pub fn requests(&self, session: usize) -> Vec<Value> {
        self.with(session, |session| session.requests.clone())
    }

    /// Takes the reasons why requests of a session are invalid.
    pub fn take_faults(&self, session: usize) -> Vec<String> {
        self.with(session, |session| std::mem::take(&mut session.faults))
    }

    fn with<T>(&self, session: usize, act: impl FnOnce(&mut Session) -> T) -> T {
        act(self.sessions.lock().unwrap().entry(session).or_default())
    }
}

impl Session {
    /// Returns the calls of the newest row as items of an input.
    fn calls(&self) -> impl Iterator<Item = Value> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(id, ..) => {
                let id = self.odd_ids.get(id).unwrap_or(id);
                Some(json!({ "type": "function_call", "call_id": id, "name": "look", "arguments": "{}" }))
            }
            _ => None,
        })
    }

    /// True if calls of the newest row have the same id.
    fn repeats_ids(&self) -> bool {
        let ids: Vec<Value> = self.calls().map(|call| call["call_id"].clone()).collect();
        ids.iter().enumerate().any(|(at, id)| ids[..at].contains(id))
    }

    /// Returns the request for the mock model, which knows nothing of the row's reply.
    fn checked(&mut self, place: RowId, mut body: Value) -> Value {
        replace_ids(&mut body, &self.odd_ids);
        let odd = call_ids(&body).into_iter().find(|id| !is_valid_id(id));
        self.faults.extend(odd.map(|id| format!("invalid call id {id:?}")));
        if body["previous_response_id"] == response_id(place).as_str() {
            let input = body["input"].as_array().cloned().unwrap_or_default();
            body["input"] = self.input.iter().cloned().chain(self.calls()).chain(input).collect();
            body.as_object_mut().unwrap().remove("previous_response_id");
        }
        body
    }
}

fn is_valid_id(id: &str) -> bool {
    (1..=MAX_ID_CHARS).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

fn replace_ids(value: &mut Value, ids: &BTreeMap<String, String>) {
    match value {
        Value::String(text) => {
            if let Some(valid) = ids.get(text) {
                text.clone_from(valid);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| replace_ids(value, ids)),
        Value::Object(members) => members.values_mut().for_each(|value| replace_ids(value, ids)),
        _ => {}
    }
}

/// Returns the ids of calls and of their results anywhere in a request.
pub fn call_ids(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(values) => values.iter().flat_map(call_ids).collect(),
        Value::Object(members) => {
            let is_call = ["tool_use", "function"].iter().any(|kind| value["type"] == *kind);
            let is_id = |name: &str| {
                ["call_id", "tool_call_id", "tool_use_id", "toolUseId"].contains(&name)
                    || is_call && name == "id"
            };
            let own = members.iter().filter(|(name, _)| is_id(name)).filter_map(|(_, id)| id.as_str());
            own.chain(members.values().flat_map(call_ids)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the id in `(row 1/7)`, or of the response that the request continues.
fn row_id_of(text: &str) -> Option<RowId> {
    let after = |start: &str| text.rfind(start).map(|at| &text[at + start.len()..]);
    let rest = after("(row ").or_else(|| after("\"resp_row_"))?;
    let (session, rest) = rest.split_once('/')?;
    let row = rest.split(|character: char| !character.is_ascii_digit()).next()?;
    Some((session.parse().ok()?, row.parse().ok()?))
}

async fn answer(State(provider): State<Arc<Provider>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let bytes = to_bytes(body, MAX_BODY_BYTES).await.unwrap();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let Some(place) = row_id_of(&text) else {
        return next.run(Request::from_parts(parts, Body::from(bytes))).await;
    };
    let session = place.0;
    let body: Value = serde_json::from_str(&text).unwrap();
    let previous = body["previous_response_id"].clone();
    let continues = previous == response_id(place).as_str();
    let (reply, checked) = provider.with(session, |state| {
        let reply = state.reply.take();
        if reply.is_some() {
            state.input = body["input"].as_array().cloned().unwrap_or_default();
        }
        state.requests.push(body.clone());
        (reply, state.checked(place, body))
    });
    let checked = Request::from_parts(parts, Body::from(checked.to_string()));
    let (head, body) = next.run(checked).await.into_parts();
    let bytes = to_bytes(body, MAX_BODY_BYTES).await.unwrap();
    let text = String::from_utf8_lossy(&bytes);
    // A response whose calls have no ids of their own can't be continued.
    let is_refused = continues && provider.with(session, |state| state.repeats_ids());
    if head.status.is_client_error() && !is_refused && !text.contains("previous_response_not_found") {
        provider.with(session, |state| state.faults.push(format!("{:?}: {text}", provider.api)));
    }
    match reply {
        Some(mut reply) => {
            // The API tells which response this one continues.
            reply.replace("\"previous_response_id\":null", &format!("\"previous_response_id\":{previous}"));
            let mut response = Response::builder();
            let headers =
                [("content-type", reply.content_type), ("content-encoding", reply.content_encoding)];
            for (name, value) in headers {
                response = value.into_iter().fold(response, |response, value| response.header(name, value));
            }
            response.body(Body::from(reply.body())).unwrap()
        }
        None if continues => {
            let named = format!("\"previous_response_id\":{previous}");
            let text = text.replace("\"previous_response_id\":null", &named);
            let mut response = Response::from_parts(head, Body::from(text));
            response.headers_mut().remove("content-length");
            response
        }
        None => Response::from_parts(head, Body::from(bytes)),
    }
}
