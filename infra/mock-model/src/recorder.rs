//! Recorder of requests, for tests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use axum::http::HeaderMap;
use serde_json::{Map, Value, json};

use crate::refusal::Refusal;

/// Older requests are forgotten beyond this many, and beyond this many bytes of bodies.
const KEPT: usize = 10_000;
const KEPT_BYTES: usize = 256 << 20;

/// Later moments are not noted.
const MOMENTS: usize = 100_000;

/// The headers that carry a key: recorded as present, never as they are.
const KEYS: [&str; 2] = ["authorization", "api-key"];

/// The headers worth looking at.
const HEADERS: [&str; 7] = [
    "accept",
    "content-type",
    "openai-organization",
    "openai-project",
    "traceparent",
    "user-agent",
    "x-client-request-id",
];

/// Something that took time, for whoever measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// A request was there, whole.
    Received,
    /// A piece of text was handed to the connection.
    TextSent,
}

/// The last 10,000 requests. Clones share what was recorded.
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    kept: Arc<Mutex<RecordedRequest>>,
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
struct RecordedRequest {
    count: usize,
    abandoned: usize,
    embeddings: Embeddings,
    bytes: usize,
    requests: VecDeque<(String, Value)>,
    moments: Vec<(Moment, Instant)>,
    unfit: Vec<String>,
    removed: Vec<String>,
    refuses_removals: bool,
}

impl RecordedRequest {
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
        let body = |request: &Value| request.get("body").cloned().unwrap_or_default();
        self.lock().shown().iter().map(body).collect()
    }

    /// The same as they came, to the byte.
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

    /// Returns the reasons for refusing invalid requests: a violation of the published schema, or
    /// breaks a rule of the API beside it. Not those that a script, or the provider that is played, refuses.
    pub fn refused_as_unfit(&self) -> Vec<String> {
        self.lock().unfit.clone()
    }

    /// The ids of the responses that were removed, in order.
    pub fn removals(&self) -> Vec<String> {
        self.lock().removed.clone()
    }

    /// From now on every removal of a response is answered with 503, or none is.
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

    /// Forgets everything.
    pub fn clear(&self) {
        *self.lock() = RecordedRequest::default();
    }

    /// Remembers a request, as it came and as it is read.
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
        let mut kept = self.lock();
        kept.count += 1;
        kept.bytes += text.len();
        let request = json!({ "query": query, "headers": shown, "body": body });
        kept.requests.push_back((String::from_utf8_lossy(text).into_owned(), request));
        while kept.requests.len() > KEPT || kept.bytes > KEPT_BYTES {
            let Some((text, _)) = kept.requests.pop_front() else {
                break;
            };
            kept.bytes = kept.bytes.saturating_sub(text.len());
        }
    }

    pub(crate) fn note(&self, moment: Moment) {
        let mut kept = self.lock();
        if kept.moments.len() < MOMENTS {
            kept.moments.push((moment, Instant::now()));
        }
    }

    pub(crate) fn unfit(&self, why: &Refusal) {
        let Refusal { param, message, .. } = why;
        self.lock().unfit.push(format!("{}: {message}", param.as_deref().unwrap_or_default()));
    }

    pub(crate) fn embedded(&self, texts: usize) {
        let mut kept = self.lock();
        kept.embeddings.requests += 1;
        kept.embeddings.texts += texts;
    }

    pub(crate) fn abandon(&self) {
        self.lock().abandoned += 1;
    }

    pub(crate) fn shown(&self) -> Value {
        let kept = self.lock();
        let Embeddings { requests, texts } = kept.embeddings;
        json!({
            "count": kept.count,
            "abandoned": kept.abandoned,
            "requests": kept.shown(),
            "embeddings": { "requests": requests, "texts": texts },
        })
    }

    fn lock(&self) -> MutexGuard<'_, RecordedRequest> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
