//! The stream of a chat completion.

use contracts::stream::{Event, Kind};
use serde_json::{Value, json};

use super::object::{Completion, finish_reason};
use crate::json_object::set;
use crate::{
    error::ApiError,
    response::{Outcome, Status},
};

/// The last line of a stream.
const DONE: &str = "data: [DONE]\n\n";
/// Separates the answer from text that the turn's stream discarded, since this protocol can't withdraw text.
const GAP: &str = "\n\n";

/// A translator of a turn's stream into chunks.
#[derive(Debug)]
pub struct ChatTranslator {
    completion: Completion,
    include_usage: bool,
    text: String,
    is_started: bool,
    is_discarded: bool,
    is_finished: bool,
}

impl ChatTranslator {
    /// Creates a translator.
    #[must_use]
    pub fn new(completion: Completion, include_usage: bool) -> Self {
        Self {
            completion,
            include_usage,
            text: String::new(),
            is_started: false,
            is_discarded: false,
            is_finished: false,
        }
    }

    /// True if the last chunk was returned.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Returns the first chunk.
    pub fn start(&mut self) -> Vec<String> {
        self.is_started = true;
        vec![self.chunk(&json!({"role": "assistant", "content": "", "refusal": null}), None)]
    }

    /// Translates an event of the turn.
    pub fn event(&mut self, event: &Event) -> Vec<String> {
        match &event.kind {
            Kind::Delta(delta) => self.delta(&delta.text),
            Kind::Reset(_) => {
                self.is_discarded = !self.text.is_empty();
                Vec::new()
            }
            Kind::Result(body) => self.finish(&Outcome::from_body(body.get().as_bytes())),
            Kind::Status(_) | Kind::Reasoning(_) => Vec::new(),
        }
    }

    /// Returns the remaining chunks of a completion with this outcome.
    pub fn finish(&mut self, outcome: &Outcome) -> Vec<String> {
        self.is_finished = true;
        let mut chunks = Vec::new();
        let text = match outcome {
            Outcome::Answer { text, .. } | Outcome::Calls { text, .. } => text.as_str(),
            Outcome::Failed { .. } => "",
        };
        // Text beside calls was streamed before the turn's stream discarded it.
        let rest = text.strip_prefix(&*self.text).filter(|_| self.text != text).map(str::to_owned);
        if self.text != text && !text.is_empty() {
            let rest = rest.unwrap_or_else(|| {
                self.is_discarded = true;
                text.to_owned()
            });
            chunks.extend(self.delta(&rest));
        }
        match outcome {
            Outcome::Calls { calls, .. } => {
                for (n, mut call) in self.completion.calls(calls).into_iter().enumerate() {
                    set(&mut call, "index", json!(n));
                    chunks.push(self.chunk(&json!({"tool_calls": [call]}), None));
                }
            }
            Outcome::Failed { error, .. } if outcome.status() != Status::Incomplete => {
                let error = ApiError::from(error.clone());
                chunks.push(line(&error.body()));
                return chunks;
            }
            _ => {}
        }
        chunks.push(self.chunk(&json!({}), Some(finish_reason(outcome))));
        if self.include_usage {
            chunks.push(line(&self.completion.usage_chunk(outcome)));
        }
        chunks.push(DONE.to_owned());
        chunks
    }

    fn delta(&mut self, text: &str) -> Vec<String> {
        let gap = if std::mem::take(&mut self.is_discarded) {
            self.text.clear();
            GAP
        } else {
            ""
        };
        self.text.push_str(text);
        vec![self.chunk(&json!({"content": format!("{gap}{text}")}), None)]
    }

    fn chunk(&self, delta: &Value, finish_reason: Option<&str>) -> String {
        line(&self.completion.chunk(delta, finish_reason))
    }
}

fn line(data: &Value) -> String {
    format!("data: {data}\n\n")
}
