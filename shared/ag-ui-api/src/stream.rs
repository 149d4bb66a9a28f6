//! The stream of a run.

use contracts::{
    read::TurnStep,
    response::ToolCall,
    stream::{Event, Kind, Phase, Reasoning, Status},
};
use fronts::{Outcome, Status as RunStatus, Translator};
use futures::future::BoxFuture;
use histories::TurnRound;
use serde_json::{Value, json};

pub use crate::event::RunFrame;
use crate::{
    error::ApiError,
    event::{self, Finish},
    history::History,
    id,
    messages::{server_calls, steps_of_round},
};

/// Reads the steps of the turn: the arguments and results of the server's tools, which its stream doesn't have.
pub type StepsReader = Box<dyn Fn() -> BoxFuture<'static, Vec<TurnStep>> + Send + Sync>;

/// Returns the events of a run that shows the history of a thread, from the first to the last.
#[must_use]
pub fn of_history(frame: &RunFrame, history: Option<&History>) -> String {
    let shown = history.map(snapshots).unwrap_or_default();
    frame.started() + &shown + &frame.finished(&Finish::Success { pending_calls: &[] }, None)
}

/// Returns the events that replace the messages and the state of a client.
#[must_use]
pub fn snapshots(history: &History) -> String {
    let state = history.state.as_ref().map(event::state_snapshot);
    event::messages_snapshot(&history.messages) + &state.unwrap_or_default()
}

/// A translator of a turn's stream into the events of a run.
///
/// The protocol can't withdraw text. Text that the turn's stream discarded is a message of its own before the answer's.
pub struct RunTranslator {
    frame: RunFrame,
    turn: TurnRound,
    /// The events after the first one.
    preamble: String,
    read_steps: StepsReader,
    /// The position of the next message.
    position: u64,
    text: Option<Text>,
    /// The message of the calls of the current reply.
    parent: Option<String>,
    /// The number of the current reply, if the turn's stream tells it.
    reply: Option<u32>,
    /// The message of the reasoning that is open, and the number of those before it.
    reasoning: (Option<String>, u64),
    /// The service's ids of the calls that run.
    running: Vec<String>,
    /// Those of the calls whose results the client has.
    shown: Vec<String>,
    /// The steps of the round, as far as they were needed.
    steps: Vec<TurnStep>,
    /// True until the turn's stream tells of work that goes on.
    is_replay: bool,
    is_finished: bool,
}

/// A text message.
struct Text {
    id: String,
    text: String,
    is_open: bool,
    /// True if the turn's stream discarded it.
    is_discarded: bool,
}

impl RunTranslator {
    /// Creates a translator. `preamble` follows the run's first event.
    #[must_use]
    pub fn new(frame: RunFrame, turn: TurnRound, preamble: String, read_steps: StepsReader) -> Self {
        Self {
            frame,
            turn,
            preamble,
            read_steps,
            position: 0,
            text: None,
            parent: None,
            reply: None,
            reasoning: (None, 0),
            running: Vec::new(),
            shown: Vec::new(),
            steps: Vec::new(),
            is_replay: true,
            is_finished: false,
        }
    }

    fn next_id(&mut self) -> String {
        let id = id::message(&self.turn, self.position);
        self.position = self.position.saturating_add(1);
        id
    }

    fn delta(&mut self, delta: &str) -> String {
        let mut events = self.close_reasoning() + &self.show_calls();
        self.parent = None;
        if self.text.as_ref().is_some_and(|text| text.is_discarded) {
            events.push_str(&self.close_text());
        }
        match &mut self.text {
            Some(text) if text.is_open => {
                text.text.push_str(delta);
                events.push_str(&event::text_delta(&text.id, delta));
            }
            _ => events.push_str(&self.open_text(delta)),
        }
        events
    }

    fn open_text(&mut self, text: &str) -> String {
        let id = self.next_id();
        let events = event::text_start(&id) + &event::text_delta(&id, text);
        self.text = Some(Text { id, text: text.to_owned(), is_open: true, is_discarded: false });
        events
    }

    fn close_text(&mut self) -> String {
        match &mut self.text {
            Some(text) if text.is_open => {
                text.is_open = false;
                event::text_end(&text.id)
            }
            _ => String::new(),
        }
    }

    /// Sends the whole text of a reply, as far as the client doesn't have it. Returns the message's id too, if there is one.
    fn complete(&mut self, text: &str) -> (String, Option<String>) {
        let mut events = String::new();
        match &mut self.text {
            Some(sent) if sent.text == text => {}
            Some(sent) if sent.is_open && !sent.text.is_empty() && text.starts_with(&sent.text) => {
                let rest = text.get(sent.text.len()..).unwrap_or_default();
                events.push_str(&event::text_delta(&sent.id, rest));
            }
            _ => {
                events.push_str(&self.close_text());
                self.text = None;
                if !text.is_empty() {
                    events.push_str(&self.open_text(text));
                }
            }
        }
        events.push_str(&self.close_text());
        (events, self.text.as_ref().map(|text| text.id.clone()))
    }

    fn reasoning(&mut self, piece: &Reasoning) -> String {
        let mut events = String::new();
        if piece.index == 0 {
            events.push_str(&self.close_reasoning());
        }
        if self.reasoning.0.is_none() {
            let id = format!("{}:reasoning:{}", id::message(&self.turn, self.position), self.reasoning.1);
            events.push_str(&event::reasoning_start(&id));
            self.reasoning = (Some(id), self.reasoning.1.saturating_add(1));
        }
        if let (Some(id), _) = &self.reasoning {
            events.push_str(&event::reasoning_delta(id, &piece.text));
        }
        events
    }

    fn close_reasoning(&mut self) -> String {
        self.reasoning.0.take().map(|id| event::reasoning_end(&id)).unwrap_or_default()
    }

    /// Forgets the message of an earlier reply. The text that is open is the reply's that ends.
    fn next_reply(&mut self) {
        self.parent = None;
        self.text = self.text.take().filter(|text| text.is_open);
        self.text.iter_mut().for_each(|text| text.is_discarded = true);
    }

    fn status(&mut self, status: &Status) -> String {
        let mut events = String::new();
        if status.round.is_some() && status.round != self.reply {
            self.reply = status.round;
            self.is_replay = false;
            events.push_str(&self.close_text());
            self.next_reply();
        }
        if let (Phase::Tool, Some(name), Some(call)) =
            (&status.phase, &status.tool_name, &status.tool_call_id)
        {
            events.push_str(&self.announce(call, name));
        }
        events
    }

    /// Shows that a call of a server's tool runs.
    fn announce(&mut self, call: &str, name: &str) -> String {
        if self.running.iter().chain(&self.shown).any(|known| known == call) {
            return String::new();
        }
        let events = self.close_reasoning() + &self.close_text();
        let parent = self.parent();
        self.running.push(call.to_owned());
        events + &event::call_start(&id::call(&self.turn.turn, call), name, &parent)
    }

    /// Returns the message of the current reply's calls: that of its text, or else one without a text.
    fn parent(&mut self) -> String {
        let of_text = self.text.as_ref().filter(|text| text.is_discarded).map(|text| text.id.clone());
        let parent = self.parent.take().or(of_text).unwrap_or_else(|| self.next_id());
        self.parent = Some(parent.clone());
        parent
    }

    /// Shows the arguments and results of the server's calls in the steps that were read.
    fn show_calls(&mut self) -> String {
        let mut events = String::new();
        for step in std::mem::take(&mut self.steps) {
            if self.is_replay && server_calls(&step).next().is_some() {
                self.parent = None;
                self.text = None;
                if let Some(text) = &step.text {
                    events.push_str(&self.open_text(text));
                    events.push_str(&self.close_text());
                    self.text.iter_mut().for_each(|text| text.is_discarded = true);
                }
            }
            for (call, result) in server_calls(&step) {
                if self.shown.contains(&call.tool_call_id) {
                    continue;
                }
                events.push_str(&self.announce(&call.tool_call_id, &call.name));
                self.running.retain(|running| *running != call.tool_call_id);
                self.shown.push(call.tool_call_id.clone());
                let id = id::call(&self.turn.turn, &call.tool_call_id);
                events.push_str(&event::call_end(&id, &call.arguments_json));
                events.push_str(&event::call_result(&id, result));
            }
        }
        events
    }

    /// Ends the calls that are open although the turn has ended.
    fn close_calls(&mut self) -> String {
        let running = std::mem::take(&mut self.running);
        running.iter().map(|call| event::call_end(&id::call(&self.turn.turn, call), "")).collect()
    }

    fn client_calls(&self, calls: &[ToolCall], parent: &str) -> (String, Vec<String>) {
        let (mut events, mut ids) = (String::new(), Vec::new());
        for call in calls {
            let id = id::call(&self.turn.turn, &call.tool_call_id);
            events.push_str(&event::call_start(&id, &call.name, parent));
            events.push_str(&event::call_end(&id, &call.arguments_json));
            ids.push(id);
        }
        (events, ids)
    }
}

impl Translator for RunTranslator {
    fn start(&mut self) -> String {
        let value = json!({"SessionId": self.turn.session, "TurnId": self.turn.turn});
        let turn: Value = json!({"type": "CUSTOM", "name": "aptix.turn", "value": value});
        self.frame.started() + &event::sse(&turn) + &std::mem::take(&mut self.preamble)
    }

    async fn load(&mut self, event: Option<&Event>) {
        let has_calls = !self.running.is_empty();
        // Only the connection that runs the turn tells of replies and their calls.
        let needs_steps = match event.map(|event| &event.kind) {
            Some(Kind::Delta(_)) => has_calls || self.is_replay,
            Some(Kind::Result(_)) | None => has_calls || self.reply.is_none(),
            Some(Kind::Reset(_) | Kind::Status(_) | Kind::Reasoning(_)) => false,
        };
        if needs_steps {
            let steps = (self.read_steps)().await;
            self.steps = steps_of_round(&steps, self.turn.round).to_vec();
        }
    }

    fn event(&mut self, event: &Event) -> String {
        if let Kind::Result(body) = &event.kind {
            return self.finish(&Outcome::from_body(body.get().as_bytes()));
        }
        let events = match &event.kind {
            Kind::Delta(delta) => self.delta(&delta.text),
            Kind::Reset(_) => {
                self.next_reply();
                String::new()
            }
            Kind::Reasoning(piece) => self.reasoning(piece),
            Kind::Status(status) => return self.status(status),
            Kind::Result(_) => String::new(),
        };
        self.is_replay = false;
        events
    }

    fn outlasted(&mut self) -> String {
        self.is_finished = true;
        self.close_reasoning() + &self.close_text() + &self.close_calls() + &event::outlasted()
    }

    fn finish(&mut self, outcome: &Outcome) -> String {
        self.is_finished = true;
        let mut events = self.close_reasoning() + &self.show_calls() + &self.close_calls();
        match outcome {
            Outcome::Answer { text, usage, .. } => {
                events.push_str(&self.complete(text).0);
                events + &self.frame.finished(&Finish::Success { pending_calls: &[] }, *usage)
            }
            Outcome::Calls { text, calls } => {
                let (reply, parent) = self.complete(text);
                let parent = parent.or(self.parent.take()).unwrap_or_else(|| self.next_id());
                let (calls, ids) = self.client_calls(calls, &parent);
                events
                    + &reply
                    + &calls
                    + &self.frame.finished(&Finish::Success { pending_calls: &ids }, None)
            }
            Outcome::Failed { error, text } => {
                if self.is_replay && !text.is_empty() {
                    events.push_str(&self.complete(text).0);
                }
                events.push_str(&self.close_text());
                match outcome.status() {
                    RunStatus::Cancelled => events + &self.frame.finished(&Finish::Cancelled, None),
                    _ => events + &event::failed(&ApiError::from(error.clone())),
                }
            }
        }
    }

    fn is_finished(&self) -> bool {
        self.is_finished
    }
}

#[cfg(test)]
mod tests {
    use contracts::{
        id::{SessionId, TurnId},
        stream::{Delta, Reset},
    };
    use futures::FutureExt;

    use super::*;
    use crate::request::Version;

    fn translator(version: Version, steps: &Value) -> RunTranslator {
        let frame = RunFrame { thread: "t".to_owned(), run: "r".to_owned(), parent_run: None, version };
        let turn = TurnRound::first(SessionId::new("s").unwrap(), TurnId::new("u").unwrap());
        let steps: Vec<TurnStep> = serde_json::from_value(steps.clone()).unwrap();
        RunTranslator::new(
            frame,
            turn,
            String::new(),
            Box::new(move || futures::future::ready(steps.clone()).boxed()),
        )
    }

    fn event(kind: Kind) -> Event {
        Event { id: None, kind }
    }

    fn delta(text: &str) -> Event {
        event(Kind::Delta(Delta { index: 0, text: text.to_owned() }))
    }

    fn tool(call: &str) -> Event {
        let status = Status::new(Phase::Tool, 1, Some(1));
        event(Kind::Status(Status {
            tool_name: Some("look".to_owned()),
            tool_progress: None,
            tool_call_id: Some(call.to_owned()),
            ..status
        }))
    }

    fn answer(text: &str) -> Outcome {
        Outcome::Answer { text: text.to_owned(), usage: None, is_truncated: false }
    }

    fn steps() -> Value {
        let call = json!({"ToolCallId": "c", "Name": "look", "ArgumentsJson": "{}", "IsPending": false,
                          "RanBy": "server", "ResultJson": "1"});
        json!([{"Round": 1, "Kind": "tools", "Text": "I look.", "Calls": [call]},
               {"Round": 2, "Kind": "answer", "Text": "Done."}])
    }

    /// Returns the types of the events, with the ids of their messages.
    async fn read(
        mut translator: RunTranslator,
        events: &[Event],
        outcome: &Outcome,
    ) -> Vec<(String, Value)> {
        let mut text = translator.start();
        for event in events {
            translator.load(Some(event)).await;
            text.push_str(&translator.event(event));
        }
        translator.load(None).await;
        text.push_str(&translator.finish(outcome));
        assert!(translator.is_finished());
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        let events = data.map(|data| serde_json::from_str::<Value>(data).unwrap());
        let id = |event: &Value| {
            event.get("messageId").or(event.get("parentMessageId")).cloned().unwrap_or_default()
        };
        events.map(|event| (event["type"].as_str().unwrap().to_owned(), id(&event))).collect()
    }

    #[tokio::test]
    async fn replay_has_the_events_of_the_live_stream() {
        let thinking = event(Kind::Status(Status::new(Phase::Thinking, 1, Some(1))));
        let live =
            [thinking, delta("I look."), event(Kind::Reset(Reset::default())), tool("c"), delta("Done.")];
        let live = read(translator(Version::V1, &steps()), &live, &answer("Done.")).await;
        let replay = read(translator(Version::V1, &steps()), &[], &answer("Done.")).await;
        assert_eq!(live, replay);
        let kinds: Vec<&str> = live.iter().map(|(kind, _)| kind.as_str()).collect();
        let text = ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"];
        let call = ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT"];
        let run = [&["RUN_STARTED", "CUSTOM"][..], &text, &call, &text, &["RUN_FINISHED"]].concat();
        assert_eq!(kinds, run);
        assert_eq!(live[2].1, live[5].1, "the call is of the message with its text");
        assert_ne!(live[2].1, live[9].1);
    }

    #[tokio::test]
    async fn open_parts_are_closed_before_an_error() {
        let piece = Reasoning { round: 1, index: 0, text: "hm".to_owned() };
        let open = [event(Kind::Reasoning(piece)), delta("Hal"), tool("c")];
        let error = contracts::Error::from(contracts::ErrorCode::ModelUnavailable);
        let failed = Outcome::Failed { error, text: "Hal".to_owned() };
        let events = read(translator(Version::V0, &json!([])), &open, &failed).await;
        let count = |kind: &str| events.iter().filter(|event| event.0 == kind).count();
        for (start, end) in [
            ("TEXT_MESSAGE_START", "TEXT_MESSAGE_END"),
            ("TOOL_CALL_START", "TOOL_CALL_END"),
            ("REASONING_MESSAGE_START", "REASONING_MESSAGE_END"),
            ("REASONING_START", "REASONING_END"),
        ] {
            assert_eq!((count(start), count(end)), (1, 1), "{start}");
        }
        assert_eq!(events.last().unwrap().0, "RUN_ERROR");
        let mut cut = translator(Version::V0, &json!([]));
        let last = cut.event(&delta("Hal")) + &cut.outlasted();
        assert!(last.contains("TEXT_MESSAGE_END") && last.contains("TurnInProgress") && cut.is_finished());
    }
}
