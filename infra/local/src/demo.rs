//! The demo: a short conversation over HTTP, as a client holds it, and the resulting session.

use std::fmt::Write;
use std::time::Duration;

use contracts::{
    id::{InvalidId, SessionId},
    paths,
};
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::cloud::Cloud;
use crate::token::Identity;

/// The instructions, and the scripts that the mock model follows.
const TURNS: [(&str, &str); 3] = [
    ("Say in one sentence what you are.", ""),
    ("And what did I ask you before?", ""),
    (
        "Read src/main.rs of my workspace and tell me what it prints.",
        "[[script: call workspace_read_file {\"path\":\"src/main.rs\"}; then; say \"It prints: hello.\"]]",
    ),
];
/// Contents of the file that Ada's client reads.
const FILE: &str = "fn main() {\n    println!(\"hello\");\n}\n";
/// Tool rounds of a turn, at most.
const MAX_TOOL_ROUNDS: usize = 8;
/// Timeout for the turns to be finalized.
const FINALIZE_TIMEOUT: Duration = Duration::from_secs(30);
/// Time between reads of the session.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Placeholder for an absent value.
const ABSENT: &str = "-";
/// Timeout of a single call.
const CALL_TIMEOUT: Duration = Duration::from_secs(300);

/// A failure of the demo.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No token could be signed.
    #[error(transparent)]
    Cloud(#[from] crate::error::Error),
    /// The session's id is invalid.
    #[error("The session id {0}")]
    Session(#[from] InvalidId),
    /// No HTTP client can be made.
    #[error("No HTTP client can be made: {0}")]
    NoClient(#[source] reqwest::Error),
    /// The API did not respond.
    #[error("{0} failed: {1}")]
    NoAnswer(String, reqwest::Error),
    /// The API rejected the request.
    #[error("{0} was rejected with {1}: {2}")]
    Refused(String, u16, String),
    /// The turns were answered but not finalized in time.
    #[error("The turns were not completed in time. Last state of the session: {0}")]
    NotCompleted(Value),
}

/// Runs the conversation. Returns its transcript and the resulting session as text to print.
///
/// # Errors
/// Fails if a call fails, or if the turns are not completed in time.
pub async fn demo(cloud: &Cloud) -> Result<String, Error> {
    let client = Client {
        // The cloud is on this machine, and needs no root certificates.
        http: reqwest::Client::builder().no_proxy().tls_certs_only([]).build().map_err(Error::NoClient)?,
        base: cloud.url().to_owned(),
        token: cloud.token(&Identity::user("acme", "ada"))?,
    };
    let session = SessionId::new(new_id())?;
    let mut output = format!("Conversation of ada (org acme) with {}, session {session}\n", cloud.url());
    for (instruction, script) in TURNS {
        let script = if cloud.model().is_some() { script } else { "" };
        let prompt = format!("{instruction} {script}");
        let request = json!({
            "SessionId": session, "TurnId": new_id(), "AgentContextId": "workspace", "Instruction": prompt.trim(),
        });
        let _ = writeln!(output, "\n  Ada: {instruction}");
        let mut answer = client.post(paths::EXECUTE, &request).await?;
        for _ in 0..MAX_TOOL_ROUNDS {
            let Some(calls) = answer.get("ToolCalls").and_then(Value::as_array) else { break };
            let results: Vec<Value> = calls.iter().map(|call| run(call, &mut output)).collect();
            let results = json!({
                "SessionId": session, "TurnId": text(&answer, "/TurnId"), "ToolResults": results,
            });
            answer = client.post(paths::TOOL_RESULTS, &results).await?;
        }
        let _ = writeln!(
            output,
            "  {}: {}",
            text(&answer, "/ModeDisplayName"),
            text(&answer, "/PrimaryOutputText")
        );
    }
    let read = client.wait_until_completed(&session).await?;
    let _ = write!(output, "\nStored session:\n{}", describe(&read));
    Ok(output)
}

struct Client {
    http: reqwest::Client,
    base: String,
    token: String,
}

impl Client {
    async fn post(&self, path: &str, request: &Value) -> Result<Value, Error> {
        let post = self.http.post(format!("{}{path}", self.base));
        let post = post.header("content-type", "application/json").body(request.to_string());
        self.call(&format!("POST {path}"), post).await
    }

    /// Returns the session once all of its turns are completed.
    async fn wait_until_completed(&self, session: &SessionId) -> Result<Value, Error> {
        let mut last = Value::Null;
        let completed = async {
            loop {
                let get = self.http.get(format!("{}{}", self.base, paths::SESSION.fill(session)));
                last = self.call("GET session", get).await?;
                if turns(&last).len() == TURNS.len() && turns(&last).iter().all(is_completed) {
                    return Ok(());
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        match tokio::time::timeout(FINALIZE_TIMEOUT, completed).await {
            Ok(read) => read.map(|()| last),
            Err(_) => Err(Error::NotCompleted(last)),
        }
    }

    async fn call(&self, what: &str, request: RequestBuilder) -> Result<Value, Error> {
        let no_answer = |error| Error::NoAnswer(what.to_owned(), error);
        let request = request.bearer_auth(&self.token).timeout(CALL_TIMEOUT);
        let response = request.send().await.map_err(no_answer)?;
        let status = response.status().as_u16();
        let body = response.text().await.map_err(no_answer)?;
        match serde_json::from_str::<Value>(&body) {
            Ok(Value::Object(mut envelope)) if envelope.get("Successful") == Some(&Value::Bool(true)) => {
                Ok(envelope.remove("Result").unwrap_or_default())
            }
            _ => Err(Error::Refused(what.to_owned(), status, body)),
        }
    }
}

/// Runs a tool as Ada's client does: it serves a single file and declines every other call.
fn run(call: &Value, output: &mut String) -> Value {
    let (name, arguments) = (text(call, "/Name"), text(call, "/ArgumentsJson"));
    let _ = writeln!(output, "  (client tool: {name} {arguments})");
    let id = text(call, "/ToolCallId");
    if name == "workspace_read_file" {
        json!({ "ToolCallId": id, "ExecutionMs": 1, "ResultJson": json!(FILE).to_string() })
    } else {
        json!({ "ToolCallId": id, "ExecutionMs": 0, "ErrorMessage": "The user declined." })
    }
}

fn new_id() -> String {
    Uuid::new_v4().simple().to_string()
}

fn turns(session: &Value) -> &[Value] {
    let turns = session.get("Turns").and_then(Value::as_array);
    turns.map(Vec::as_slice).unwrap_or_default()
}

fn is_completed(turn: &Value) -> bool {
    text(turn, "/Status/Id") == "completed"
}

fn describe(session: &Value) -> String {
    let mut output = format!(
        "  {} of {}, {} turns\n",
        text(session, "/Id"),
        text(session, "/OwnerOrganization/Id"),
        turns(session).len()
    );
    for turn in turns(session) {
        let _ = write!(
            output,
            "\n  {}. {} ({})\n     instruction: {}\n     answer:      {}\n     payloads:    {}\n                  {}\n",
            turn.get("SequenceNumber").unwrap_or(&Value::Null),
            text(turn, "/Id"),
            text(turn, "/Status/Id"),
            text(turn, "/InstructionSummary"),
            text(turn, "/AgentAnswerSummary"),
            text(turn, "/FullInstructionUrl"),
            text(turn, "/FullAgentAnswerUrl"),
        );
    }
    output
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or(ABSENT)
}
