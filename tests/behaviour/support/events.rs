//! A strict reader of event streams: anything unexpected fails the test.

use std::{collections::VecDeque, pin::Pin};

use bytes::Bytes;
use contracts::paths;
use futures::{Stream, StreamExt};
use reqwest::{Method, header::HeaderMap};
use serde_json::Value;

use super::client::{Answer, Client};

/// A received event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub id: u64,
    pub kind: String,
    pub data: String,
}

/// An open stream. Dropping it disconnects.
pub struct Events {
    pub headers: HeaderMap,
    /// The comments so far.
    pub comments: usize,
    /// The reconnection hints so far.
    pub hints: usize,
    /// The statuses so far. A client that ignores statuses reads the events only.
    pub statuses: Vec<Value>,
    /// The pieces of reasoning so far.
    pub reasoning: Vec<Value>,
    bytes: Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>,
    unread: Vec<u8>,
    fields: Vec<(String, String)>,
    events: VecDeque<Event>,
}

impl Client {
    /// Sends a request and returns its stream, or its response if it is none.
    pub async fn stream(
        &self,
        method: Method,
        path: &str,
        after: Option<u64>,
        body: Option<&Value>,
    ) -> Result<Events, Answer> {
        let after = after.map(|id| id.to_string());
        let mut headers = vec![("accept", "text/event-stream")];
        headers.extend(body.map(|_| ("content-type", "application/json")));
        headers.extend(after.as_deref().map(|id| ("last-event-id", id)));
        let body = body.map(Value::to_string).unwrap_or_default();
        let response = self.request(method, path, &headers, body.into_bytes()).send().await.expect("a head");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        if headers.get("content-type").is_none_or(|kind| kind != "text/event-stream") {
            return Err(Answer { status, headers, text: response.text().await.expect("a body") });
        }
        assert_eq!(status, 200, "an event stream is a success");
        Ok(Events {
            headers,
            comments: 0,
            hints: 0,
            statuses: Vec::new(),
            reasoning: Vec::new(),
            bytes: Box::pin(response.bytes_stream()),
            unread: Vec::new(),
            fields: Vec::new(),
            events: VecDeque::new(),
        })
    }

    /// Executes a user turn with streaming.
    pub async fn execute_streaming(&self, turn: &Value, after: Option<u64>) -> Result<Events, Answer> {
        let mut turn = turn.clone();
        turn["Streaming"] = Value::Bool(true);
        self.stream(Method::POST, paths::EXECUTE, after, Some(&turn)).await
    }

    /// Reattaches to a turn's stream.
    pub async fn follow(&self, turn: &Value, after: Option<u64>) -> Result<Events, Answer> {
        self.stream(Method::GET, &format!("{}/stream", super::turn_path(turn)), after, None).await
    }
}

impl Events {
    /// Returns the next event, or none if the stream ended or broke.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            let piece = self.bytes.next().await?.ok()?;
            self.unread.extend_from_slice(&piece);
            while let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                self.read(std::str::from_utf8(&line[..end]).expect("UTF-8"));
            }
        }
    }

    fn read(&mut self, line: &str) {
        match line.split_once(": ") {
            _ if line == ":" => self.comments += 1,
            Some(("retry", millis)) => {
                assert!(self.fields.is_empty() && millis.parse::<u64>().is_ok(), "{line}");
                self.hints += 1;
            }
            Some((field, value)) => self.fields.push((field.to_owned(), value.to_owned())),
            None if line.is_empty() => {
                let fields = std::mem::take(&mut self.fields);
                if let [(event, kind), (data, value)] = fields.as_slice()
                    && [event, data] == ["event", "data"]
                {
                    let value = serde_json::from_str(value).expect("JSON");
                    return match kind.as_str() {
                        "status" => self.statuses.push(value),
                        "reasoning" => self.reasoning.push(value),
                        _ => panic!("not one of our events: {fields:?}"),
                    };
                }
                let [(id_name, id), (kind_name, kind), (data_name, data)] = fields.as_slice() else {
                    panic!("not one of our events: {fields:?}");
                };
                assert_eq!([id_name, kind_name, data_name], ["id", "event", "data"]);
                let id = id.parse().expect("a number");
                self.events.push_back(Event { id, kind: kind.clone(), data: data.clone() });
            }
            None => panic!("no line of ours: {line:?}"),
        }
    }

    /// Returns the remaining events.
    pub async fn rest(self) -> Vec<Event> {
        self.rest_with_statuses().await.0
    }

    /// Returns the remaining events, and all statuses.
    pub async fn rest_with_statuses(mut self) -> (Vec<Event>, Vec<Value>) {
        let mut all = Vec::new();
        while let Some(event) = self.next().await {
            all.push(event);
        }
        (all, self.statuses)
    }
}

/// Returns the final text of a stream and its `InvokeResult`. Checks the invariants of a complete stream: ids rise,
/// each delta begins at the end of the text before it, and exactly one result comes last.
pub fn final_text_and_result(events: &[Event]) -> (String, String) {
    assert!(events.windows(2).all(|pair| pair[0].id < pair[1].id), "ids rise: {events:?}");
    let (last, before) = events.split_last().expect("at least a result");
    assert_eq!(last.kind, "result", "{events:?}");
    let (mut text, mut length) = (String::new(), 0);
    for event in before {
        match event.kind.as_str() {
            "delta" => {
                let delta: Value = serde_json::from_str(&event.data).expect("JSON");
                let more = delta["Text"].as_str().expect("text");
                assert_eq!(delta["Index"].as_u64(), Some(length), "{event:?}");
                text.push_str(more);
                length += more.encode_utf16().count() as u64;
            }
            "reset" => {
                let reset: Value = serde_json::from_str(&event.data).expect("JSON");
                assert!(reset["Reason"].is_string(), "{event:?}");
                text.clear();
                length = 0;
            }
            kind => panic!("{kind} amid {events:?}"),
        }
    }
    (text, last.data.clone())
}

/// Returns the final answer's text from a result.
pub fn answer_text(result: &str) -> String {
    let result: Value = serde_json::from_str(result).expect("JSON");
    assert_eq!(result["Successful"], true, "{result}");
    result["Result"]["PrimaryOutputText"].as_str().expect("a final answer").to_owned()
}
