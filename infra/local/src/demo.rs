//! A short conversation, held over HTTP as a client holds it, and the session as it is read back.

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

/// What is asked, and what the scripted model is told to do about it.
const INSTRUCTIONS: [(&str, &str); 3] = [
    ("Say in one sentence what you are.", ""),
    ("And what did I ask you before?", ""),
    (
        "Read src/main.rs of my workspace and tell me what it prints.",
        "[[script: call workspace_read_file {\"path\":\"src/main.rs\"}; then; say \"It prints: hello.\"]]",
    ),
];
/// What Ada's client finds when it is asked to read a file.
const FILE: &str = "fn main() {\n    println!(\"hello\");\n}\n";
/// How many rounds of tools a turn of the demo may take.
const MOST_ROUNDS: usize = 8;
/// How long the turns may take to be finalized.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often the session is read meanwhile.
const READ_EVERY: Duration = Duration::from_millis(100);
/// What is shown for what is not there.
const ABSENT: &str = "-";
/// How long a single call may take.
const CALL_TIMEOUT: Duration = Duration::from_secs(300);

/// Why the demo did not work out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No token, so no client.
    #[error(transparent)]
    Cloud(#[from] crate::cloud::Error),
    /// The session has no id to be asked for by.
    #[error("the session's id {0}")]
    Session(#[from] InvalidId),
    /// The API did not answer.
    #[error("{0} got no answer: {1}")]
    NoAnswer(String, reqwest::Error),
    /// The API refused.
    #[error("{0} was refused with {1}: {2}")]
    Refused(String, u16, String),
    /// The turns were answered but not finalized.
    #[error("the turns were not completed in time; the session was last read as {0}")]
    NotCompleted(Value),
}

/// Holds the conversation and returns it, with the session as it was read back, as text to print.
///
/// # Errors
/// When a call fails, or the turns are not completed in time.
pub async fn demo(cloud: &Cloud) -> Result<String, Error> {
    let client = Client {
        http: reqwest::Client::new(),
        base: cloud.url().to_owned(),
        token: cloud.token(&Identity::user("acme", "ada"))?,
    };
    let session = SessionId::new(new_id())?;
    let mut told = format!("Ada of acme talks to {}, session {session}.\n", cloud.url());
    for (asked, script) in INSTRUCTIONS {
        let script = if cloud.model().is_some() { script } else { "" };
        let instruction = format!("{asked} {script}");
        let request = json!({ "SessionId": session, "TurnId": new_id(), "Instruction": instruction.trim() });
        let _ = writeln!(told, "\n  Ada: {asked}");
        let mut answer = client.post(paths::EXECUTE, &request).await?;
        for _ in 0..MOST_ROUNDS {
            let Some(calls) = answer.get("ToolCalls").and_then(Value::as_array) else { break };
            let results: Vec<Value> = calls.iter().map(|call| run(call, &mut told)).collect();
            let results = json!({
                "SessionId": session, "TurnId": text(&answer, "/TurnId"), "ToolResults": results,
            });
            answer = client.post(paths::TOOL_RESULTS, &results).await?;
        }
        let _ = writeln!(
            told,
            "  {}: {}",
            text(&answer, "/ModeDisplayName"),
            text(&answer, "/PrimaryOutputText")
        );
    }
    let read = client.completed(&session).await?;
    let _ = write!(told, "\nThe session as read back:\n{}", describe(&read));
    Ok(told)
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

    /// The session once every turn of it is completed.
    async fn completed(&self, session: &SessionId) -> Result<Value, Error> {
        let mut last = Value::Null;
        let completed = async {
            loop {
                let get = self.http.get(format!("{}{}", self.base, paths::SESSION.of(session)));
                last = self.call("GET session", get).await?;
                if turns(&last).len() == INSTRUCTIONS.len() && turns(&last).iter().all(is_completed) {
                    return Ok(());
                }
                tokio::time::sleep(READ_EVERY).await;
            }
        };
        match tokio::time::timeout(PATIENCE, completed).await {
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

/// Runs a tool as Ada's client does: it reads the one file there is, and declines everything else.
fn run(call: &Value, told: &mut String) -> Value {
    let (name, arguments) = (text(call, "/Name"), text(call, "/ArgumentsJson"));
    let _ = writeln!(told, "  (her client runs {name} {arguments})");
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
    let mut told = format!(
        "  {} of {}, {} turns\n",
        text(session, "/Id"),
        text(session, "/OwnerOrganization/Id"),
        turns(session).len()
    );
    for turn in turns(session) {
        let _ = write!(
            told,
            "\n  {}. {} ({})\n     asked:    {}\n     answered: {}\n     payloads: {}\n               {}\n",
            turn.get("SequenceNumber").unwrap_or(&Value::Null),
            text(turn, "/Id"),
            text(turn, "/Status/Id"),
            text(turn, "/InstructionSummary"),
            text(turn, "/AgentAnswerSummary"),
            text(turn, "/FullInstructionUrl"),
            text(turn, "/FullAgentAnswerUrl"),
        );
    }
    told
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or(ABSENT)
}
