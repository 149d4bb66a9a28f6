//! A short conversation, held over HTTP as a client holds it, and the session as it is read back.

use std::fmt::Write;
use std::time::Duration;

use reqwest::RequestBuilder;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::cloud::Cloud;
use crate::token::Identity;

/// What is asked.
const INSTRUCTIONS: [&str; 2] = ["Say in one sentence what you are.", "And what did I ask you before?"];
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
    /// The API did not answer.
    #[error("{0} got no answer: {1}")]
    NoAnswer(String, reqwest::Error),
    /// The API refused.
    #[error("{0} was refused with {1}: {2}")]
    Refused(String, u16, String),
    /// The turns were answered but not finalized.
    #[error("the turns were not finalized in time; the session was last read as {0}")]
    NotFinalized(Value),
}

/// Holds the conversation and returns it, with the session as it was read back, as text to print.
///
/// # Errors
/// When a call fails, or the turns are not finalized in time.
pub async fn demo(cloud: &Cloud) -> Result<String, Error> {
    let client = Client {
        http: reqwest::Client::new(),
        base: format!("{}/api/ai/agent", cloud.url()),
        token: cloud.token(&Identity::user("acme", "ada"))?,
    };
    let session = new_id();
    let mut told = format!("Ada of acme talks to {}, session {session}.\n", cloud.url());
    for instruction in INSTRUCTIONS {
        let request = json!({ "SessionId": session, "TurnId": new_id(), "Instruction": instruction });
        let answer = client.execute(&request).await?;
        let _ = write!(
            told,
            "\n  Ada: {instruction}\n  {}: {}\n",
            text(&answer, "/ModeDisplayName"),
            text(&answer, "/PrimaryOutputText")
        );
    }
    let read = client.finalized(&session).await?;
    let _ = write!(told, "\nThe session as read back:\n{}", describe(&read));
    Ok(told)
}

struct Client {
    http: reqwest::Client,
    base: String,
    token: String,
}

impl Client {
    async fn execute(&self, request: &Value) -> Result<Value, Error> {
        let post = self.http.post(format!("{}/execute", self.base));
        let post = post.header("content-type", "application/json").body(request.to_string());
        self.call("POST execute", post).await
    }

    /// The session once every turn of it is finalized.
    async fn finalized(&self, session: &str) -> Result<Value, Error> {
        let mut last = Value::Null;
        let finalized = async {
            loop {
                let get = self.http.get(format!("{}/sessions/{session}", self.base));
                last = self.call("GET session", get).await?;
                if turns(&last).len() == INSTRUCTIONS.len() && turns(&last).iter().all(is_finalized) {
                    return Ok(());
                }
                tokio::time::sleep(READ_EVERY).await;
            }
        };
        match tokio::time::timeout(PATIENCE, finalized).await {
            Ok(read) => read.map(|()| last),
            Err(_) => Err(Error::NotFinalized(last)),
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

fn new_id() -> String {
    Uuid::new_v4().simple().to_string()
}

fn turns(session: &Value) -> &[Value] {
    let turns = session.get("Turns").and_then(Value::as_array);
    turns.map(Vec::as_slice).unwrap_or_default()
}

/// A completed turn is finalized when it says where its whole answer is.
fn is_finalized(turn: &Value) -> bool {
    text(turn, "/Status/Id") == "completed" && text(turn, "/FullAgentAnswerUrl") != ABSENT
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
