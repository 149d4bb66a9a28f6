//! The result of a call, and its progress on a stream.

use axum::response::{IntoResponse, Response};
use contracts::{
    Error, ErrorCode,
    response::ToolCall,
    stream::{Event, Kind, Phase, Status},
};
use fronts::{Form, Outcome, Translator};
use histories::TurnRound;
use serde_json::{Value, json};

use crate::{
    era::Era,
    error::RpcError,
    message::Request,
    resource::Uri,
    server::{Caching, in_era},
};

/// The characters of text between two notifications about it.
const CHARS_PER_NOTIFICATION: usize = 1_000;

/// A running call: the request that it answers, and its turn.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningCall {
    id: Value,
    era: Era,
    turn: TurnRound,
    /// The token of its progress notifications, if the client wants them.
    token: Option<Value>,
}

/// The reason why a call started no turn.
#[derive(Debug)]
pub struct Refused(Error);

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        RpcError::from(self.0).into_response()
    }
}

impl Refused {
    /// Returns the response to the call: a result that the calling model reads, unless the service is at fault.
    #[must_use]
    pub fn respond(self, request: &Request) -> Response {
        if self.0.system_error() {
            return RpcError::from(self.0).with_id(&request.id).into_response();
        }
        failed(request, &message(&self.0))
    }
}

/// Returns the response to a call that started no turn, with a text that the calling model reads.
#[must_use]
pub fn failed(request: &Request, text: &str) -> Response {
    let members = json!({"content": [{"type": "text", "text": text}], "isError": true});
    crate::server::respond(request, members, Caching::Never)
}

impl RunningCall {
    /// Creates the running call of a request.
    #[must_use]
    pub fn new(request: &Request, turn: TurnRound, token: Option<Value>) -> Self {
        Self { id: request.id.clone(), era: request.era, turn, token }
    }

    /// Returns the response with this outcome.
    fn response(&self, outcome: &Outcome) -> Value {
        let (session, turn) = (self.turn.session.as_str(), self.turn.turn.as_str());
        let ids = json!({"session": session, "turn": turn});
        let (text, structured) = match outcome {
            Outcome::Answer { text, .. } => {
                (text.clone(), json!({"session": session, "turn": turn, "answer": text}))
            }
            Outcome::Calls { text, calls } => {
                let named = |call: &ToolCall| json!({"id": call.tool_call_id, "name": call.name, "arguments": call.arguments_json});
                let named: Vec<Value> = calls.iter().map(named).collect();
                (waiting(text, calls), json!({"session": session, "turn": turn, "calls": named}))
            }
            Outcome::Failed { error, .. } if error.error_code == ErrorCode::TurnInProgress => {
                let uri = Uri::Answer { session: self.turn.session.clone(), turn: self.turn.turn.clone() };
                (format!("{} Its answer will be the resource {uri}.", message(error)), ids.clone())
            }
            Outcome::Failed { error, text } => (with_partial(message(error), text), ids.clone()),
        };
        // The ids are a text too, because not every client shows a model the structured content.
        let content = json!([
            {"type": "text", "text": text},
            {"type": "text", "text": ids.to_string(), "annotations": {"audience": ["assistant"]}},
        ]);
        let is_error = !matches!(outcome, Outcome::Answer { .. });
        let members = json!({"content": content, "structuredContent": structured, "isError": is_error});
        json!({"jsonrpc": "2.0", "id": self.id, "result": in_era(self.era, members, Caching::Never)})
    }
}

/// Returns the text of a turn that waits for the results of client tools. The protocol has no way to send them.
fn waiting(text: &str, calls: &[ToolCall]) -> String {
    let calls: Vec<String> =
        calls.iter().map(|call| format!("{}({})", call.name, call.arguments_json)).collect();
    let waiting = format!(
        "The agent waits for the results of client tools, which can't be sent over MCP: {}. Send them through another \
         API of the service, or cancel the turn.",
        calls.join(", ")
    );
    if text.is_empty() { waiting } else { format!("{text}\n\n{waiting}") }
}

fn with_partial(message: String, partial: &str) -> String {
    if partial.is_empty() { message } else { format!("{message}\n\nThe answer until then:\n\n{partial}") }
}

fn message(error: &Error) -> String {
    if error.error_code == ErrorCode::TurnIdConflict {
        return "An earlier call with this name had other arguments. Give this call a name of its own."
            .to_owned();
    }
    match error.retry_after_seconds {
        Some(seconds) => format!("{} Try again in {seconds} s.", error.message),
        None => error.message.clone(),
    }
}

impl Form for RunningCall {
    type Error = Refused;
    type Translator = ProgressTranslator;

    fn translator(self) -> ProgressTranslator {
        ProgressTranslator { call: self, progress: 0, chars: 0, is_finished: false }
    }

    fn whole(&self, outcome: &Outcome) -> Result<Value, Refused> {
        Ok(self.response(outcome))
    }

    fn late(&self, outcome: &Outcome) -> Value {
        self.response(outcome)
    }
}

/// A translator of a turn's stream into progress notifications and the response.
#[derive(Debug)]
pub struct ProgressTranslator {
    call: RunningCall,
    /// The number of notifications.
    progress: u64,
    /// The characters of text since the last notification about it.
    chars: usize,
    is_finished: bool,
}

impl ProgressTranslator {
    fn notify(&mut self, message: &str) -> String {
        let Some(token) = &self.call.token else { return String::new() };
        let TurnRound { session, turn, .. } = &self.call.turn;
        let meta = json!({"aptix/session": session.as_str(), "aptix/turn": turn.as_str()});
        let params =
            json!({"progressToken": token, "progress": self.progress, "message": message, "_meta": meta});
        self.progress = self.progress.saturating_add(1);
        event(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}))
    }
}

impl Translator for ProgressTranslator {
    fn start(&mut self) -> String {
        self.notify("Started")
    }

    fn event(&mut self, event: &Event) -> String {
        match &event.kind {
            Kind::Status(status) => self.notify(&phase(status)),
            Kind::Delta(delta) => {
                self.chars = self.chars.saturating_add(delta.text.chars().count());
                if self.chars < CHARS_PER_NOTIFICATION {
                    return String::new();
                }
                self.chars = 0;
                self.notify("Writing")
            }
            Kind::Result(body) => self.finish(&Outcome::from_body(body.get().as_bytes())),
            Kind::Reset(_) | Kind::Reasoning(_) => String::new(),
        }
    }

    fn finish(&mut self, outcome: &Outcome) -> String {
        self.is_finished = true;
        event(&self.call.response(outcome))
    }

    fn is_finished(&self) -> bool {
        self.is_finished
    }
}

fn phase(status: &Status) -> String {
    let name = match status.phase {
        Phase::Working => "Working",
        Phase::Retrieving => "Searching the sources",
        Phase::RebuildingHistory => "Reading earlier turns",
        Phase::Thinking => "Waiting for the model",
        Phase::Retrying => "Calling the model again",
        Phase::Tool => "Running a tool",
        Phase::WaitingForTools => "Waiting for client tools",
        Phase::WaitingForApproval => "Waiting for an approval",
    };
    status.tool_name.as_ref().map_or_else(|| name.to_owned(), |tool| format!("{name}: {tool}"))
}

fn event(message: &Value) -> String {
    format!("event: message\ndata: {message}\n\n")
}
