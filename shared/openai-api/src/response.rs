//! Responses: a turn's outcome as a `response` object.

use contracts::{Error, Usage, response::ToolCall};
pub use fronts::{Outcome, Status};
use serde_json::{Map, Value, json};

use crate::error::ApiError;
use crate::file_search::{ReadPassages, Search};
use crate::id::ResponseId;
use crate::json_object::set;
use crate::request::CalledTool;

/// The phase of a message that is the answer.
pub(crate) const FINAL_ANSWER: &str = "final_answer";
/// The phase of a message beside calls.
pub(crate) const COMMENTARY: &str = "commentary";

/// The members of a response besides its outcome.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The id.
    pub id: ResponseId,
    /// The time of creation, in seconds.
    pub created_at: i64,
    /// The time of the end, in seconds, if it is known.
    pub completed_at: Option<i64>,
    /// The members that come from the request.
    repeated: Map<String, Value>,
    /// The search in vector stores.
    search: Option<Search>,
}

impl Frame {
    /// Creates the frame of a response. `model` applies if the request didn't name one.
    #[must_use]
    pub fn new(id: ResponseId, created_at: i64, repeated: &Value, model: &str) -> Self {
        let mut repeated = repeated.as_object().cloned().unwrap_or_default();
        repeated.entry("model").or_insert_with(|| json!(model));
        if id.round > 0 {
            let before = ResponseId { round: id.round.saturating_sub(1), ..id.clone() };
            repeated.insert("previous_response_id".to_owned(), json!(before.to_string()));
        }
        let search = Search::of_tools(repeated.get("tools"));
        Self { id, created_at, completed_at: None, repeated, search }
    }

    /// True if the response searches vector stores.
    #[must_use]
    pub fn has_search(&self) -> bool {
        self.search.is_some()
    }

    /// Adds what the search in vector stores needs: its query, and a reader of the passages that it finds.
    #[must_use]
    pub fn with_search(mut self, query: &str, includes_results: bool, read: ReadPassages) -> Self {
        if let Some(search) = &mut self.search {
            query.clone_into(&mut search.query);
            search.includes_results = includes_results;
            search.read = Some(read);
        }
        self
    }

    /// Returns the frame with the passages of its search.
    pub async fn loaded(mut self) -> Self {
        self.load_search().await;
        self
    }

    /// Reads the passages of the search, unless they were read.
    pub(crate) async fn load_search(&mut self) {
        if let Some(search) = &mut self.search {
            search.load().await;
        }
    }

    /// Returns the output item of the search. Only the first response of a turn has one.
    pub(crate) fn search_item(&self, status: &str) -> Option<Value> {
        self.search.as_ref().filter(|_| self.id.round == 0).map(|search| search.item(&self.id, status))
    }

    /// Returns the index of the first output item after the search.
    pub(crate) fn first_index(&self) -> u64 {
        u64::from(self.search.is_some() && self.id.round == 0)
    }

    /// Returns the citations of an answer.
    pub(crate) fn citations(&self, text: &str) -> Vec<Value> {
        self.search.as_ref().map(|search| search.citations(text)).unwrap_or_default()
    }

    /// Returns the response while its turn runs.
    #[must_use]
    pub fn in_progress(&self) -> Value {
        self.object(Status::InProgress, Vec::new(), None)
    }

    /// Returns the response with its outcome.
    #[must_use]
    pub fn with_outcome(&self, outcome: &Outcome) -> Value {
        let status = outcome.status();
        let mut object = match outcome {
            Outcome::Answer { text, usage, .. } => {
                let messages = self.messages(text, status.as_str(), Some(FINAL_ANSWER), self.citations(text));
                self.object(status, messages, Some(usage.unwrap_or_default()))
            }
            Outcome::Calls { text, calls } => {
                let mut output = self.messages(text, "completed", Some(COMMENTARY), Vec::new());
                let calls = calls.iter().enumerate();
                output.extend(calls.map(|(n, call)| {
                    let tool = self.called_tool(call);
                    self.call(n, tool, "completed", &tool.content(&call.arguments_json))
                }));
                // The usage of a turn counts in its last response.
                self.object(status, output, Some(Usage::default()))
            }
            Outcome::Failed { error, text } => {
                let mut object =
                    self.object(status, self.messages(text, "incomplete", None, Vec::new()), None);
                if status == Status::Failed {
                    set(&mut object, "error", failure(error));
                }
                object
            }
        };
        if status == Status::Incomplete {
            set(&mut object, "incomplete_details", json!({"reason": "max_output_tokens"}));
        }
        object
    }

    /// Returns the message with a text as a list; empty without a text.
    fn messages(&self, text: &str, status: &str, phase: Option<&str>, citations: Vec<Value>) -> Vec<Value> {
        if text.is_empty() {
            return Vec::new();
        }
        vec![self.message(self.first_index(), status, phase, vec![cited_part(text, citations)])]
    }

    /// Returns a message of the model.
    pub(crate) fn message(
        &self,
        index: u64,
        status: &str,
        phase: Option<&str>,
        content: Vec<Value>,
    ) -> Value {
        let mut message = json!({
            "id": self.id.message(index),
            "type": "message",
            "status": status,
            "role": "assistant",
            "content": content,
        });
        if let Some(phase) = phase {
            set(&mut message, "phase", json!(phase));
        }
        message
    }

    /// Returns an item with reasoning. It has no text while it is written.
    pub(crate) fn reasoning(&self, index: u64, text: Option<&str>) -> Value {
        let parts: Vec<Value> = text.map(summary).into_iter().collect();
        json!({"id": self.id.reasoning(index), "type": "reasoning", "summary": parts})
    }

    /// Returns the tool of the request that a model called.
    pub(crate) fn called_tool<'a>(&'a self, call: &'a ToolCall) -> CalledTool<'a> {
        CalledTool::find(self.repeated.get("tools"), &call.name)
    }

    /// Returns a call of a tool. The call shares the id of its item, so that a client which sends back the call
    /// alone names the response.
    pub(crate) fn call(&self, position: usize, tool: CalledTool<'_>, status: &str, content: &str) -> Value {
        let id = self.id.call(position);
        let mut item = json!({"id": id, "type": tool.call_type(), "status": status, "call_id": id});
        tool.write(&mut item, content);
        item
    }

    fn object(&self, status: Status, output: Vec<Value>, tokens: Option<Usage>) -> Value {
        // The events of a stream add the item to a response in progress.
        let search = self.search_item("completed").filter(|_| status != Status::InProgress);
        let output: Vec<Value> = search.into_iter().chain(output).collect();
        let ended = (status == Status::Completed).then_some(self.completed_at.unwrap_or(self.created_at));
        let mut object = json!({
            "id": self.id.to_string(),
            "object": "response",
            "created_at": self.created_at,
            "completed_at": ended,
            "status": status.as_str(),
            "background": false,
            "error": null,
            "incomplete_details": null,
            "instructions": null,
            "max_output_tokens": null,
            "max_tool_calls": null,
            "metadata": {},
            "output": output,
            "parallel_tool_calls": true,
            "previous_response_id": null,
            "prompt_cache_key": null,
            "reasoning": {"effort": null, "summary": null},
            "safety_identifier": null,
            "service_tier": "default",
            "store": true,
            "temperature": 1.0,
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": [],
            "top_logprobs": 0,
            "top_p": 1.0,
            "truncation": "auto",
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
        });
        if let Value::Object(members) = &mut object {
            // The published schema has no null here.
            members.extend(tokens.map(|tokens| ("usage".to_owned(), usage(tokens))));
            members.extend(self.repeated.clone());
        }
        object
    }
}

/// Returns a part with the text of a message.
pub(crate) fn part(text: &str) -> Value {
    cited_part(text, Vec::new())
}

/// Returns a part with the text of a message and its citations.
pub(crate) fn cited_part(text: &str, citations: Vec<Value>) -> Value {
    json!({"type": "output_text", "text": text, "annotations": citations, "logprobs": []})
}

/// Returns a part of a summary of reasoning.
pub(crate) fn summary(text: &str) -> Value {
    json!({"type": "summary_text", "text": text})
}

/// Returns the error of a failed response. Clients compact, wait, stop or repeat by its code.
fn failure(error: &Error) -> Value {
    let ApiError { status, message, code, .. } = error.clone().into();
    let code = match code.as_deref().unwrap_or_default() {
        known @ ("context_length_exceeded" | "insufficient_quota" | "rate_limit_exceeded") => known,
        _ if status < 500 => "invalid_prompt",
        _ => "server_error",
    };
    json!({"code": code, "message": message})
}

fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cached_tokens.unwrap_or_default(),
            "cache_write_tokens": usage.cache_write_tokens.unwrap_or_default(),
        },
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens.unwrap_or_default()},
        "total_tokens": usage.total_tokens,
    })
}
