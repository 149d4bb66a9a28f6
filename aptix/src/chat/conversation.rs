//! A chat session: runs its turns and the commands about it.

use client::{Api, Error, Position, Request, Retry};
use contracts::paths;
use serde_json::{Value, json};
use uuid::Uuid;

use super::advice::with_advice;
use super::attachment::Attachment;
use super::response::{items, text};
use super::screen::Screen;
use super::tools::{ToolRun, Tools};
use crate::escape::{escape_line, escape_path};
use crate::failure::Failure;
use crate::output::counted;

/// Turns that are shown when a session is opened.
const SHOWN_TURNS: usize = 3;
/// Attempts to send a cancellation, which may arrive before the turn that it cancels.
const CANCEL_ATTEMPTS: u32 = 6;

/// Outcome of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The turn was answered.
    Answered,
    /// The turn failed, and the reason was shown.
    Failed,
    /// The user stopped the turn.
    Stopped,
    /// The user wants to quit.
    Quit,
}

/// The last turn, for `/retry`.
struct LastTurn {
    turn: String,
    request: Request,
    /// Set if the same request can be sent again.
    is_replayable: bool,
}

/// A chat session and its client.
pub(crate) struct Conversation {
    api: Api,
    /// A client that may list the modes, if the caller's own may not.
    operator_api: Option<Api>,
    session: String,
    /// Agent context of a new session.
    agent: Option<String>,
    /// True until a session is opened, which has an agent already.
    is_new: bool,
    /// True if slash commands can be typed.
    is_interactive: bool,
    tools: Tools,
    attachments: Vec<Attachment>,
    last: Option<LastTurn>,
    /// Session ids in the order in which `/sessions` listed them.
    listed_sessions: Vec<String>,
}

impl Conversation {
    pub(crate) fn new(api: Api, operator_api: Option<Api>, agent: Option<String>, tools: Tools) -> Self {
        Self {
            api,
            operator_api,
            session: new_id(),
            agent,
            is_new: true,
            is_interactive: false,
            tools,
            attachments: Vec::new(),
            last: None,
            listed_sessions: Vec::new(),
        }
    }

    /// Makes advice name slash commands.
    pub(crate) fn set_interactive(&mut self) {
        self.is_interactive = true;
    }

    /// Continues an existing session without showing it. A mistyped id would start a new session otherwise.
    pub(crate) async fn set_session(&mut self, session: String) -> Result<(), Failure> {
        let path = format!("{}/{session}?pageSize=1", paths::SESSIONS);
        self.api.call(&Request::get(path)).await.map_err(|error| unknown_session(error, &session))?;
        self.session = session;
        self.is_new = false;
        Ok(())
    }

    /// Starts a new session.
    pub(crate) fn new_session(&mut self) {
        self.session = new_id();
        self.is_new = true;
        self.last = None;
    }

    pub(crate) fn attach(&mut self, attachment: Attachment) {
        let attachment = attachment.with_distinct_path(&self.attachments);
        self.attachments.push(attachment);
    }

    /// Returns the number of attachments for the next instruction.
    pub(crate) fn attachment_count(&self) -> usize {
        self.attachments.len()
    }

    /// Sends an instruction with the attachments.
    pub(crate) async fn ask(&mut self, instruction: &str, screen: &mut Screen) -> Result<Outcome, Failure> {
        let turn = new_id();
        let (mut files, mut images) = (Vec::new(), Vec::new());
        for attachment in &self.attachments {
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
            ("AgentContextId", self.agent.as_ref().filter(|_| self.is_new).map(|agent| json!(agent))),
        ];
        let body = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let body = Value::Object(body.collect());
        let request = Request::post(paths::EXECUTE, &body);
        let outcome = self.run_turn(turn, request, screen).await?;
        if outcome == Outcome::Answered {
            self.attachments.clear();
        }
        Ok(outcome)
    }

    /// Retries the last instruction: sends the same request if that can still succeed, or reruns the turn otherwise.
    pub(crate) async fn retry(&mut self, screen: &mut Screen) -> Result<Outcome, Failure> {
        let last = match self.last.take() {
            Some(last) => last,
            None => {
                let request = Request::get(self.path("/turns/last"));
                let response = self.api.call(&request).await?;
                LastTurn { turn: text(&response, "/Id").to_owned(), request, is_replayable: false }
            }
        };
        if last.is_replayable {
            return self.run_turn(last.turn, last.request, screen).await;
        }
        let turn = new_id();
        let path = self.path(&format!("/turns/{}/rerun", last.turn));
        let request = Request::post(path, &json!({ "TurnId": turn, "Streaming": true }));
        self.run_turn(turn, request, screen).await
    }

    /// Follows a turn and its tool rounds to its end.
    async fn run_turn(
        &mut self,
        turn: String,
        request: Request,
        screen: &mut Screen,
    ) -> Result<Outcome, Failure> {
        let (mut position, mut next) = (Position::default(), request.clone());
        let outcome = loop {
            let mut on_event = |event| screen.event(event);
            let followed = tokio::select! {
                followed = self.api.follow(&next, &mut position, &mut on_event) => Some(followed),
                _ = tokio::signal::ctrl_c() => None,
            };
            let Some(followed) = followed else { break self.stop(&turn, screen).await };
            let response = match followed {
                Ok(response) => response,
                Err(error) => {
                    screen.error(&with_advice(&error, self.is_interactive));
                    let is_replayable = error.retry() == Retry::SameRequest;
                    self.last = Some(LastTurn { turn, request, is_replayable });
                    return Ok(Outcome::Failed);
                }
            };
            if text(&response, "/Kind") == "final" {
                screen.finish(text(&response, "/PrimaryOutputText"));
                self.show_warnings_and_files(&response, screen);
                break Outcome::Answered;
            }
            screen.stop();
            match self.tools.run(&response, screen).await? {
                ToolRun::Results(results) => {
                    let body = json!({ "SessionId": self.session, "TurnId": turn, "ToolResults": results });
                    next = Request::post(paths::TOOL_RESULTS, &body);
                }
                ToolRun::Stopped => break self.stop(&turn, screen).await,
            }
        };
        self.last = Some(LastTurn { turn, request, is_replayable: false });
        Ok(outcome)
    }

    /// Cancels the turn. Another Ctrl-C in the meantime quits.
    async fn stop(&self, turn: &str, screen: &mut Screen) -> Outcome {
        screen.stop();
        // Ctrl-C is listened for before the note invites it.
        tokio::select! {
            biased;
            _ = tokio::signal::ctrl_c() => return Outcome::Quit,
            () = async {
                screen.note("Stopping. Press Ctrl-C again to quit.");
                self.cancel(turn).await;
            } => {}
        }
        screen.note("Stopped.");
        Outcome::Stopped
    }

    async fn cancel(&self, turn: &str) {
        let request = Request::post_empty(self.path(&format!("/turns/{turn}/cancel")));
        for sent in 0..CANCEL_ATTEMPTS {
            match self.api.call(&request).await {
                Err(Error::Api(refusal)) if ["TurnNotFound", "SessionNotFound"].contains(&&*refusal.code) => {
                    // The turn's own request has not arrived yet.
                    tokio::time::sleep(std::time::Duration::from_millis(50 << sent)).await;
                }
                // In every other case the turn has ended or will end.
                _ => return,
            }
        }
    }

    fn show_warnings_and_files(&self, response: &Value, screen: &mut Screen) {
        for warning in items(response, "/UserWarnings") {
            screen.note(&format!("! {}", escape_line(warning.as_str().unwrap_or_default())));
        }
        for file in items(response, "/Files") {
            let url = self.api.link_url(text(file, "/Url"));
            screen.note(&format!("file {}: {url}", escape_path(text(file, "/Name"))));
        }
    }

    /// Lists the user's sessions, newest first.
    pub(crate) async fn list(&mut self, screen: &mut Screen) -> Result<(), Failure> {
        let request = Request::get(format!("{}?pageSize=20", paths::SESSIONS));
        let response = self.api.call(&request).await?;
        self.listed_sessions =
            items(&response, "/Items").map(|session| text(session, "/Id").to_owned()).collect();
        for (session, number) in items(&response, "/Items").zip(1..) {
            let here = if text(session, "/Id") == self.session { "*" } else { " " };
            let turns = session.pointer("/TurnCount").and_then(Value::as_u64).unwrap_or_default();
            let turns = counted(turns, "turn");
            let (name, date) = (escape_line(text(session, "/Name")), text(session, "/LastUpdatedDate"));
            let private = if is_private(session) { "  (private)" } else { "" };
            screen.note(&format!(
                "{here}{number:>3}  {}  {turns:>9}  {name}{private}",
                date.get(..16).unwrap_or(date)
            ));
        }
        if self.listed_sessions.is_empty() {
            screen.note("No sessions yet.");
        }
        Ok(())
    }

    /// Opens a session: shows its last turns, and waits for one that is running.
    pub(crate) async fn open(&mut self, which: &str, screen: &mut Screen) -> Result<Outcome, Failure> {
        let number =
            which.parse::<usize>().ok().and_then(|number| self.listed_sessions.get(number.checked_sub(1)?));
        let session = number.map_or(which, String::as_str).to_owned();
        let path = format!("{}/{session}/turns?order=desc&pageSize={SHOWN_TURNS}", paths::SESSIONS);
        let response =
            self.api.call(&Request::get(path)).await.map_err(|error| unknown_session(error, &session))?;
        self.session = session;
        self.is_new = false;
        self.last = None;
        let mut turns: Vec<&Value> = items(&response, "/Items").collect();
        turns.reverse();
        for turn in turns {
            let rest = if turn["InstructionSummaryTruncated"] == true { "…" } else { "" };
            screen.note(&format!("> {}{rest}", text(turn, "/InstructionSummary")));
            let id = text(turn, "/Id").to_owned();
            let request = Request::get(self.path(&format!("/turns/{id}/stream")));
            if text(turn, "/Status/Id") == "pending" {
                return self.run_turn(id, request, screen).await;
            }
            match self.api.follow(&request, &mut Position::default(), &mut |_| {}).await {
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
        Ok(Outcome::Answered)
    }

    pub(crate) async fn mode(&self, screen: &mut Screen) -> Result<(), Failure> {
        let response = self.api.call(&Request::get(self.path(""))).await?;
        screen.note(&format!("mode {}", text(&response, "/Mode")));
        for change in items(&response, "/ModeHistory") {
            screen.note(&format!("  {}  {}", text(change, "/TimeStamp"), text(change, "/NewMode")));
        }
        Ok(())
    }

    /// Shows the mode if it isn't the requested one: the name may be none, or the model may have kept the mode.
    pub(crate) async fn report_mode(&self, requested: &str, screen: &mut Screen) -> Result<(), Failure> {
        let response = self.api.call(&Request::get(self.path(""))).await?;
        let mode = text(&response, "/Mode");
        if !mode.eq_ignore_ascii_case(requested) {
            screen.note(&format!("The mode is still {mode}. Check the name {}.", escape_line(requested)));
        }
        Ok(())
    }

    /// Checks that a mode exists, if the user may list them.
    pub(crate) async fn check_mode(&self, name: &str) -> Result<(), Failure> {
        let api = self.operator_api.as_ref().unwrap_or(&self.api);
        let Ok(response) = api.call(&Request::get(paths::MODES.list)).await else { return Ok(()) };
        let mut known: Vec<&str> = items(&response, "/Items").map(|mode| text(mode, "/Id")).collect();
        known.sort_unstable();
        if known.is_empty() || known.iter().any(|key| key.eq_ignore_ascii_case(name)) {
            return Ok(());
        }
        Err(format!("There is no mode {}. Choose one of {}.", escape_line(name), known.join(", ")).into())
    }

    /// Changes who sees the session if asked to, then shows who sees it.
    pub(crate) async fn visibility(&self, name: Option<&str>, screen: &mut Screen) -> Result<(), Failure> {
        let request = match name {
            Some(name) => Request::patch(self.path(""), &json!({ "Visibility": name })),
            None => Request::get(self.path("?pageSize=1")),
        };
        let session = self.api.call(&request).await?;
        screen.note(match is_private(&session) {
            true => "participants: you, whoever took a turn, and operators see this session",
            false => "org: every member of your org sees this session",
        });
        Ok(())
    }

    pub(crate) async fn usage(&self, screen: &mut Screen) -> Result<(), Failure> {
        let response = self.api.call(&Request::get(self.path(""))).await?;
        let count = |path: &str| response.pointer(path).and_then(Value::as_u64).unwrap_or_default();
        screen.note(&format!(
            "{}, {} tokens in ({} cached), {} out",
            counted(count("/TurnCount"), "turn"),
            count("/TotalUsage/PromptTokens"),
            count("/TotalUsage/CachedTokens"),
            count("/TotalUsage/CompletionTokens")
        ));
        for cost in items(&response, "/TotalCosts") {
            screen.note(&format!("{} {}", text(cost, "/Amount"), text(cost, "/Currency")));
        }
        Ok(())
    }

    fn path(&self, rest: &str) -> String {
        format!("{}/{}{rest}", paths::SESSIONS, self.session)
    }
}

/// Names the session that can't be found, and the way to those that can.
fn unknown_session(error: Error, session: &str) -> Failure {
    match error.code() {
        Some("SessionNotFound" | "InvalidRequest") => {
            let session = escape_line(session);
            format!("No session {session} is visible to you. List yours with `aptix sessions list`, or /sessions in a chat.").into()
        }
        _ => error.into(),
    }
}

fn is_private(session: &Value) -> bool {
    text(session, "/Visibility") == "participants"
}

fn new_id() -> String {
    Uuid::new_v4().simple().to_string()
}
