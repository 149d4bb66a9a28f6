//! A session: its turns, and what is asked of it besides.

use client::{Api, Asked, Error, Position, Retry};
use contracts::paths;
use serde_json::{Value, json};
use uuid::Uuid;

use super::attachment::Attachment;
use super::screen::Screen;
use super::tools::{Results, Tools};
use crate::Failure;

/// How many turns of a session are shown when it is opened.
const SHOWN: usize = 3;
/// A cancel may come before what it cancels: then it is sent again, so often.
const CANCELS: u32 = 6;

/// Whether the talk goes on after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It came to an answer.
    Answered,
    /// It failed, and the reason was shown.
    Failed,
    /// The user stopped it.
    Stopped,
    /// The user wants to leave.
    Left,
}

/// The last turn, to be asked again.
struct Last {
    turn: String,
    asked: Asked,
    /// The very same request may still come through.
    is_open: bool,
}

/// A session, and how it is talked in.
pub(crate) struct Conversation {
    api: Api,
    session: String,
    /// The agent and conversation context of a new session.
    agent: Option<String>,
    tools: Tools,
    attached: Vec<Attachment>,
    last: Option<Last>,
    /// What `/sessions` showed.
    listed: Vec<String>,
}

impl Conversation {
    pub(crate) fn new(api: Api, agent: Option<String>, tools: Tools) -> Self {
        Self { api, session: id(), agent, tools, attached: Vec::new(), last: None, listed: Vec::new() }
    }

    /// Asks in a session that is there, without showing it.
    pub(crate) fn go_on(&mut self, session: String) {
        self.session = session;
    }

    /// Begins a session of its own.
    pub(crate) fn begin(&mut self) {
        self.session = id();
        self.last = None;
    }

    pub(crate) fn attach(&mut self, attachment: Attachment) {
        self.attached.push(attachment);
    }

    /// How many files and images wait for the next instruction.
    pub(crate) fn attached(&self) -> usize {
        self.attached.len()
    }

    /// Asks something.
    pub(crate) async fn ask(&mut self, instruction: &str, screen: &mut Screen) -> Result<Ended, Failure> {
        let turn = id();
        let (mut files, mut images) = (Vec::new(), Vec::new());
        for attachment in &self.attached {
            match attachment {
                Attachment::File(file) => files.push(file),
                Attachment::Image(image) => images.push(image),
            }
        }
        let members = [
            ("SessionId", Some(json!(self.session))),
            ("TurnId", Some(json!(turn))),
            ("Streaming", Some(json!(true))),
            ("Instruction", (!instruction.is_empty()).then(|| json!(instruction))),
            ("InputArtifacts", (!files.is_empty()).then(|| json!(files))),
            ("ClipboardImages", (!images.is_empty()).then(|| json!(images))),
            ("AgentContextId", self.agent.as_ref().map(|agent| json!(agent))),
        ];
        let given = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let body = Value::Object(given.collect());
        let asked = Asked::post(paths::EXECUTE, &body);
        let ended = self.turn(turn, asked, screen).await?;
        if ended == Ended::Answered {
            self.attached.clear();
        }
        Ok(ended)
    }

    /// Asks the last instruction again: the same request where that may still come through, else as a turn of its own.
    pub(crate) async fn again(&mut self, screen: &mut Screen) -> Result<Ended, Failure> {
        let last = match self.last.take() {
            Some(last) => last,
            None => {
                let asked = Asked::get(self.path("/turns/last"));
                let found = self.api.result(&asked).await?;
                Last { turn: text(&found, "/Id").to_owned(), asked, is_open: false }
            }
        };
        if last.is_open {
            return self.turn(last.turn, last.asked, screen).await;
        }
        let turn = id();
        let path = self.path(&format!("/turns/{}/rerun", last.turn));
        let asked = Asked::post(path, &json!({ "TurnId": turn, "Streaming": true }));
        self.turn(turn, asked, screen).await
    }

    /// A turn with its tool rounds, to its end.
    async fn turn(&mut self, turn: String, asked: Asked, screen: &mut Screen) -> Result<Ended, Failure> {
        let (mut position, mut next) = (Position::default(), asked.clone());
        let ended = loop {
            let mut tell = |event| screen.event(event);
            let followed = tokio::select! {
                followed = self.api.follow(&next, &mut position, &mut tell) => Some(followed),
                _ = tokio::signal::ctrl_c() => None,
            };
            let Some(followed) = followed else { break self.stop(&turn, screen).await };
            let response = match followed {
                Ok(response) => response,
                Err(error) => {
                    screen.error(&advice(&error));
                    let is_open = error.retry() == Retry::SameRequest;
                    self.last = Some(Last { turn, asked, is_open });
                    return Ok(Ended::Failed);
                }
            };
            if text(&response, "/Kind") == "final" {
                screen.finish(text(&response, "/PrimaryOutputText"));
                self.show_what_came_along(&response, screen);
                break Ended::Answered;
            }
            screen.stop();
            match self.tools.run(&response, screen).await? {
                Results::All(results) => {
                    let body = json!({ "SessionId": self.session, "TurnId": turn, "ToolResults": results });
                    next = Asked::post(paths::TOOL_RESULTS, &body);
                }
                Results::Stopped => break self.stop(&turn, screen).await,
            }
        };
        self.last = Some(Last { turn, asked, is_open: false });
        Ok(ended)
    }

    /// Cancels the turn; another Ctrl-C meanwhile leaves.
    async fn stop(&self, turn: &str, screen: &mut Screen) -> Ended {
        screen.stop();
        screen.note("(stopping; Ctrl-C again leaves)");
        tokio::select! {
            () = self.cancel(turn) => {}
            _ = tokio::signal::ctrl_c() => return Ended::Left,
        }
        screen.note("(stopped)");
        Ended::Stopped
    }

    async fn cancel(&self, turn: &str) {
        let asked = Asked::order(self.path(&format!("/turns/{turn}/cancel")));
        for sent in 0..CANCELS {
            match self.api.result(&asked).await {
                Err(Error::Refused(refusal))
                    if ["TurnNotFound", "SessionNotFound"].contains(&&*refusal.code) =>
                {
                    // The turn's own request is still on its way.
                    tokio::time::sleep(std::time::Duration::from_millis(50 << sent)).await;
                }
                // Whatever it came to, it is over or will be.
                _ => return,
            }
        }
    }

    fn show_what_came_along(&self, response: &Value, screen: &mut Screen) {
        for warning in items(response, "/UserWarnings") {
            screen.note(&format!("! {}", warning.as_str().unwrap_or_default()));
        }
        for file in items(response, "/Files") {
            let url = text(file, "/Url");
            screen.note(&format!("file {}: {}{url}", text(file, "/Name"), self.api.base()));
        }
    }

    /// The user's sessions, newest first.
    pub(crate) async fn list(&mut self, screen: &mut Screen) -> Result<(), Failure> {
        let asked = Asked::get(format!("{}?pageSize=20", paths::SESSIONS));
        let found = self.api.result(&asked).await?;
        self.listed = items(&found, "/Items").map(|session| text(session, "/Id").to_owned()).collect();
        for (session, number) in items(&found, "/Items").zip(1..) {
            let here = if text(session, "/Id") == self.session { "*" } else { " " };
            let turns = session.pointer("/TurnCount").and_then(Value::as_u64).unwrap_or_default();
            let (name, date) = (text(session, "/Name"), text(session, "/LastUpdatedDate"));
            screen.note(&format!(
                "{here}{number:>3}  {}  {turns:>3} turns  {name}",
                date.get(..16).unwrap_or(date)
            ));
        }
        if self.listed.is_empty() {
            screen.note("no sessions yet");
        }
        Ok(())
    }

    /// Goes on with a session: shows its last turns, and waits for one that is under way.
    pub(crate) async fn open(&mut self, which: &str, screen: &mut Screen) -> Result<Ended, Failure> {
        let number = which.parse::<usize>().ok().and_then(|number| self.listed.get(number.checked_sub(1)?));
        let session = number.map_or(which, String::as_str).to_owned();
        let path = format!("{}/{session}/turns?order=desc&pageSize={SHOWN}", paths::SESSIONS);
        let found = self.api.result(&Asked::get(path)).await?;
        self.session = session;
        self.last = None;
        let mut turns: Vec<&Value> = items(&found, "/Items").collect();
        turns.reverse();
        for turn in turns {
            let rest = if turn["InstructionSummaryTruncated"] == true { "…" } else { "" };
            screen.note(&format!("> {}{rest}", text(turn, "/InstructionSummary")));
            let id = text(turn, "/Id").to_owned();
            let asked = Asked::get(self.path(&format!("/turns/{id}/stream")));
            if text(turn, "/Status/Id") == "pending" {
                return self.turn(id, asked, screen).await;
            }
            match self.api.follow(&asked, &mut Position::default(), &mut |_| {}).await {
                Ok(response) => screen.markdown(text(&response, "/PrimaryOutputText")),
                Err(error) => {
                    let partial = text(turn, "/PartialAnswerSummary");
                    if !partial.is_empty() {
                        screen.markdown(partial);
                    }
                    screen.note(&error.to_string());
                }
            }
        }
        Ok(Ended::Answered)
    }

    pub(crate) async fn mode(&self, screen: &mut Screen) -> Result<(), Failure> {
        let found = self.api.result(&Asked::get(self.path(""))).await?;
        screen.note(&format!("mode {}", text(&found, "/Mode")));
        for change in items(&found, "/ModeHistory") {
            screen.note(&format!("  {}  {}", text(change, "/TimeStamp"), text(change, "/NewMode")));
        }
        Ok(())
    }

    pub(crate) async fn usage(&self, screen: &mut Screen) -> Result<(), Failure> {
        let found = self.api.result(&Asked::get(self.path(""))).await?;
        let count = |path: &str| found.pointer(path).and_then(Value::as_u64).unwrap_or_default();
        screen.note(&format!(
            "{} turns, {} tokens in ({} cached), {} out",
            count("/TurnCount"),
            count("/TotalUsage/PromptTokens"),
            count("/TotalUsage/CachedTokens"),
            count("/TotalUsage/CompletionTokens")
        ));
        for cost in items(&found, "/TotalCosts") {
            screen.note(&format!("{} {}", text(cost, "/Amount"), text(cost, "/Currency")));
        }
        Ok(())
    }

    fn path(&self, rest: &str) -> String {
        format!("{}/{}{rest}", paths::SESSIONS, self.session)
    }
}

/// What to do about an error, where that is known.
fn advice(error: &Error) -> String {
    let todo = match (error.code(), error.retry()) {
        (Some("Unauthenticated"), _) => " Get a new token.",
        (_, Retry::SameRequest | Retry::NewTurn) => " /retry asks again.",
        _ => "",
    };
    format!("{error}{}{todo}", if todo.is_empty() { "" } else { "." })
}

fn id() -> String {
    Uuid::new_v4().simple().to_string()
}

/// A text of an answer; empty where there is none.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn items<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}
