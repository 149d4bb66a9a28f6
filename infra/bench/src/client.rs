//! The benchmark client: sends turns and waits until they are finalized.

use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::AttributeValue;
use contracts::paths;
use protocol::queue_message::FinalizeMessage;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::failure::Failure;
use crate::shape::Shape;

/// Script of the model: about 2 KB, in deltas of one word.
const ANSWER: &str = "words 300";
/// Text that every final response contains.
const FINAL_MARKER: &str = "\"Kind\":\"final\"";
/// Length of an instruction, in bytes.
const INSTRUCTION_BYTES: usize = 2_048;
/// Timeout for a turn to be finalized.
const FINALIZE_TIMEOUT: Duration = Duration::from_secs(60);
/// Time between checks of a turn's status.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) http: reqwest::Client,
    pub(crate) api: String,
    pub(crate) token: String,
    pub(crate) org: String,
    pub(crate) table: (aws_sdk_dynamodb::Client, &'static str),
    pub(crate) queue: (aws_sdk_sqs::Client, String),
}

pub(crate) fn id() -> String {
    Uuid::new_v4().simple().to_string()
}

impl Client {
    /// Creates a session with one finalized turn, for further turns of this shape. The first turn chooses the agent, and
    /// tool rounds need one with client tools.
    pub(crate) async fn session(&self, shape: Shape) -> Result<String, Failure> {
        let session = id();
        let first = if shape == Shape::ToolRound { shape } else { Shape::Buffered };
        self.finalized_turn(&session, first).await?;
        Ok(session)
    }

    /// Runs and finalizes the session's next turn. Returns the turn's duration, without the finalization.
    pub(crate) async fn next_turn(&self, session: &str) -> Result<Duration, Failure> {
        self.finalized_turn(session, Shape::Buffered).await
    }

    async fn finalized_turn(&self, session: &str, shape: Shape) -> Result<Duration, Failure> {
        let (turn, took) = self.turn(session, shape, Duration::ZERO).await?;
        self.finalize(session, &turn).await?;
        Ok(took)
    }

    /// Requests immediate finalization, since a turn's own announcement takes a second.
    pub(crate) async fn finalize(&self, session: &str, turn: &str) -> Result<(), Failure> {
        let message = FinalizeMessage::TurnSettled {
            org: self.org.parse()?,
            session: session.parse()?,
            turn: turn.parse()?,
            correlation: None,
        };
        let (queue, url) = &self.queue;
        queue.send_message().queue_url(url).message_body(serde_json::to_string(&message)?).send().await?;
        self.wait_until_finalized(session, turn).await
    }

    /// Runs a turn whose model takes this long. Returns its id and its duration.
    pub(crate) async fn turn(
        &self,
        session: &str,
        shape: Shape,
        model: Duration,
    ) -> Result<(String, Duration), Failure> {
        let turn = id();
        let script = match shape {
            Shape::Buffered | Shape::Streamed => {
                format!("delay {}ms; {ANSWER}", model.as_millis())
            }
            Shape::ToolRound => format!("call workspace_read_file {{\"path\":\"a.rs\"}}; then; {ANSWER}"),
        };
        let instruction = instruction(&script);
        let mut body = json!({"SessionId": session, "TurnId": turn, "Streaming": shape.is_streamed(),
                              "Instruction": instruction});
        if let (Shape::ToolRound, Some(members)) = (shape, body.as_object_mut()) {
            members.insert("AgentContextId".to_owned(), json!("workspace"));
        }
        let sent = Instant::now();
        let answer = self.post(paths::EXECUTE, body.to_string()).await?;
        if shape == Shape::ToolRound {
            let continuation: Value = serde_json::from_str(&answer)?;
            let call = continuation.pointer("/Result/ToolCalls/0/ToolCallId");
            let result = json!({"ToolCallId": call, "ExecutionMs": 5, "ResultJson": "\"text\""});
            let body = json!({"SessionId": session, "TurnId": turn, "ToolResults": [result]});
            expect_contains(FINAL_MARKER, &self.post(paths::TOOL_RESULTS, body.to_string()).await?)?;
        } else {
            expect_contains(FINAL_MARKER, &answer)?;
        }
        Ok((turn, sent.elapsed()))
    }

    pub(crate) async fn post(&self, path: &str, body: String) -> Result<String, Failure> {
        let request = self.http.post(format!("{}{path}", self.api)).bearer_auth(&self.token);
        Ok(request.header("content-type", "application/json").body(body).send().await?.text().await?)
    }

    /// Asks the model for an ordinary turn's answer, without a program in between.
    pub(crate) async fn ask_model(&self, base_url: &str) -> Result<(), Failure> {
        let body = json!({"model": "scripted", "input": instruction(ANSWER), "stream": true});
        let request = self.http.post(format!("{base_url}/responses")).bearer_auth("scripted");
        let request = request.header("content-type", "application/json").body(body.to_string());
        expect_contains("response.completed", &request.send().await?.text().await?)
    }

    /// Runs a turn with a file of this size.
    pub(crate) async fn turn_with_file(&self, bytes: usize) -> Result<(), Failure> {
        let file = json!({"RelativePath": "large.txt", "FileName": "large.txt", "Origin": "ide",
                          "Contents": "word ".repeat(bytes / 5)});
        let body =
            json!({"SessionId": id(), "TurnId": id(), "Instruction": "Read it.", "InputArtifacts": [file]});
        expect_contains(FINAL_MARKER, &self.post(paths::EXECUTE, body.to_string()).await?)
    }

    /// Reads a path of the API. Returns the request's duration.
    pub(crate) async fn get(&self, path: &str) -> Result<Duration, Failure> {
        let sent = Instant::now();
        let answer = self.http.get(format!("{}{path}", self.api)).bearer_auth(&self.token).send().await?;
        expect_contains("\"Successful\":true", &answer.text().await?)?;
        Ok(sent.elapsed())
    }

    /// Waits until a turn is finalized. Polls the table, since a read of the API would be measured too.
    pub(crate) async fn wait_until_finalized(&self, session: &str, turn: &str) -> Result<(), Failure> {
        let started = Instant::now();
        let (table, name) = &self.table;
        while started.elapsed() < FINALIZE_TIMEOUT {
            let key = [("PK", format!("O#{}#S#{session}", self.org)), ("SK", format!("TURN#{turn}"))];
            let mut request = table.get_item().table_name(*name).projection_expression("#s");
            for (name, value) in key {
                request = request.key(name, AttributeValue::S(value));
            }
            let found =
                request.expression_attribute_names("#s", "Status").send().await?.item.unwrap_or_default();
            if found.get("Status").is_some_and(|status| *status == AttributeValue::S("completed".into())) {
                return Ok(());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Err("a turn was not finalized within a minute".into())
    }
}

/// Returns the instruction of an ordinary turn, whose model answers at once.
pub(crate) fn ordinary_instruction() -> String {
    instruction(&format!("delay 0ms; {ANSWER}"))
}

/// Returns an instruction of the ordinary length, with a script for the model.
fn instruction(script: &str) -> String {
    let mut instruction = format!("Write [[script: {script}]] ");
    instruction.extend(std::iter::repeat_n("text ", (INSTRUCTION_BYTES - instruction.len()) / 5));
    instruction
}

pub(crate) fn expect_contains(what: &str, answer: &str) -> Result<(), Failure> {
    let start: String = answer.chars().take(500).collect();
    if answer.contains(what) {
        Ok(())
    } else {
        Err(format!("{what} is missing in the response: {start}").into())
    }
}
