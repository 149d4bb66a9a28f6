//! Recorder of requests, for tests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use crate::bill::Charge;
use crate::refusal::Refusal;

/// Maximum number of recorded requests; older ones are evicted.
const MAX_REQUESTS: usize = 10_000;
/// Maximum total size of recorded bodies, in bytes.
const MAX_BODY_BYTES: usize = 256 << 20;

/// Maximum number of recorded moments; later ones are ignored.
const MAX_MOMENTS: usize = 100_000;

/// Headers with a key: only their presence is recorded, never the value.
const KEYS: [&str; 3] = ["authorization", "api-key", "x-api-key"];

/// Recorded headers.
const HEADERS: [&str; 8] = [
    "accept",
    "anthropic-version",
    "content-type",
    "openai-organization",
    "openai-project",
    "traceparent",
    "user-agent",
    "x-client-request-id",
];

/// A timed event, for benchmarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// A request arrived completely.
    Received,
    /// A text delta was handed to the connection.
    TextSent,
}

/// Records the last 10,000 requests. Clones share one record.
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    state: Arc<Mutex<Record>>,
    /// True once the pauses are over.
    pauses_ended: Arc<watch::Sender<bool>>,
}

/// Number of requested embeddings. The texts are not stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Embeddings {
    /// Requests, refused ones included.
    pub requests: usize,
    /// Texts that were embedded.
    pub texts: usize,
}

#[derive(Debug, Default)]
struct Record {
    count: usize,
    abandoned: usize,
    charges: Vec<Charge>,
    embeddings: Embeddings,
    bytes: usize,
    requests: VecDeque<(String, Value)>,
    moments: Vec<(Moment, Instant)>,
    invalid_requests: Vec<String>,
    removed: Vec<String>,
    reads: Vec<String>,
    refuses_removals: bool,
}

impl Record {
    fn shown(&self) -> Vec<Value> {
        let requests = self.requests.iter();
        requests.map(|(_, request)| request.clone()).collect()
    }
}

impl Recorder {
    /// The requests received, oldest first: `{"query": "..", "headers": {..}, "body": {..}}`.
    pub fn requests(&self) -> Vec<Value> {
        self.lock().shown()
    }

    /// The bodies of the requests received, oldest first.
    pub fn bodies(&self) -> Vec<Value> {
        let body = |(_, request): &(String, Value)| request.get("body").cloned().unwrap_or_default();
        self.lock().requests.iter().map(body).collect()
    }

    /// Returns the newest body that contains a text.
    pub fn last_body_with(&self, text: &str) -> Option<Value> {
        let state = self.lock();
        let (_, request) = state.requests.iter().rfind(|(body, _)| body.contains(text))?;
        request.get("body").cloned()
    }

    /// Returns the raw bodies of the requests received, oldest first.
    pub fn texts(&self) -> Vec<String> {
        self.lock().requests.iter().map(|(text, _)| text.clone()).collect()
    }

    /// Returns the number of received requests, cleared ones included.
    pub fn count(&self) -> usize {
        self.lock().count
    }

    /// Returns the number of replies that the client did not read to the end.
    pub fn abandoned(&self) -> usize {
        self.lock().abandoned
    }

    /// Returns what each ended reply costs its caller, as a provider would charge it: one that the client left, the
    /// tokens up to there. Refused requests cost nothing. At most 100,000.
    pub fn charges(&self) -> Vec<Charge> {
        self.lock().charges.clone()
    }

    pub(crate) fn charge(&self, charge: Charge) {
        let mut state = self.lock();
        if state.charges.len() < MAX_MOMENTS {
            state.charges.push(charge);
        }
    }

    /// Returns the reasons of requests that violate the published schema or a rule of the API. Requests that a
    /// script or the imitated provider refuses are not included.
    pub fn invalid_requests(&self) -> Vec<String> {
        self.lock().invalid_requests.clone()
    }

    /// Returns the ids of the responses that were read, in order.
    #[must_use]
    pub fn reads(&self) -> Vec<String> {
        self.lock().reads.clone()
    }

    pub(crate) fn read(&self, id: &str) {
        self.lock().reads.push(id.to_owned());
    }

    /// Returns the ids of the removed responses, in order.
    pub fn removals(&self) -> Vec<String> {
        self.lock().removed.clone()
    }

    /// Sets whether every removal of a response is answered with 503.
    pub fn refuse_removals(&self, refuse: bool) {
        self.lock().refuses_removals = refuse;
    }

    pub(crate) fn refuses_removals(&self) -> bool {
        self.lock().refuses_removals
    }

    pub(crate) fn removed(&self, id: &str) {
        self.lock().removed.push(id.to_owned());
    }

    /// Returns the number of requested embeddings.
    pub fn embeddings(&self) -> Embeddings {
        self.lock().embeddings
    }

    /// Returns the times of requests and sent text since the last [`Recorder::clear`], at most 100,000.
    pub fn moments(&self) -> Vec<(Moment, Instant)> {
        self.lock().moments.clone()
    }

    /// Ends the pauses within replies, those that play and those to come.
    pub fn end_pauses(&self) {
        self.pauses_ended.send_replace(true);
    }

    /// Waits this long, or until the pauses end.
    pub(crate) async fn pause(&self, pause: Duration) {
        let mut ended = self.pauses_ended.subscribe();
        // The end of the pauses or of the time is all there is to know.
        let _ended = tokio::time::timeout(pause, ended.wait_for(|ended| *ended)).await;
    }

    /// Clears the record.
    pub fn clear(&self) {
        *self.lock() = Record::default();
    }

    /// Records a request, raw and parsed.
    pub(crate) fn record(&self, query: Option<&str>, headers: &HeaderMap, text: &[u8], body: &Value) {
        let mut shown = Map::new();
        for name in HEADERS {
            if let Some(value) = headers.get(name).and_then(|value| value.to_str().ok()) {
                shown.insert(name.to_owned(), value.into());
            }
        }
        for name in KEYS.into_iter().filter(|name| headers.contains_key(*name)) {
            shown.insert(name.to_owned(), "present".into());
        }
        let mut state = self.lock();
        state.count += 1;
        state.bytes += text.len();
        let request = json!({ "query": query, "headers": shown, "body": body });
        state.requests.push_back((String::from_utf8_lossy(text).into_owned(), request));
        while state.requests.len() > MAX_REQUESTS || state.bytes > MAX_BODY_BYTES {
            let Some((text, _)) = state.requests.pop_front() else {
                break;
            };
            state.bytes = state.bytes.saturating_sub(text.len());
        }
    }

    pub(crate) fn note(&self, moment: Moment) {
        let mut state = self.lock();
        if state.moments.len() < MAX_MOMENTS {
            state.moments.push((moment, Instant::now()));
        }
    }

    pub(crate) fn record_invalid(&self, why: &Refusal) {
        let Refusal { param, message, .. } = why;
        self.lock().invalid_requests.push(format!("{}: {message}", param.as_deref().unwrap_or_default()));
    }

    pub(crate) fn embedded(&self, texts: usize) {
        let mut state = self.lock();
        state.embeddings.requests += 1;
        state.embeddings.texts += texts;
    }

    pub(crate) fn abandon(&self) {
        self.lock().abandoned += 1;
    }

    pub(crate) fn shown(&self) -> Value {
        let state = self.lock();
        let Embeddings { requests, texts } = state.embeddings;
        json!({
            "count": state.count,
            "abandoned": state.abandoned,
            "charges": state.charges.iter().map(Charge::shown).collect::<Vec<_>>(),
            "requests": state.shown(),
            "embeddings": { "requests": requests, "texts": texts },
        })
    }

    fn lock(&self) -> MutexGuard<'_, Record> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
