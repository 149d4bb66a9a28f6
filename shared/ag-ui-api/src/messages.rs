//! Stored turns as messages.

use contracts::{
    read::{RanBy, StepCall, StepKind, TurnStep},
    request::{ChatMessage, UserMessage},
    response::{ToolCall, ToolOutcome},
};
use fronts::Outcome;
use histories::TurnRound;
use serde_json::{Value, json};
use turns::flow::{Suspension, TurnSnapshot};

use crate::{id, request::StoredRun};

/// Returns the steps of a round: those after the calls of the round before, up to its own. Empty if the first steps of
/// the turn aren't known.
pub(crate) fn steps_of_round(steps: &[TurnStep], round: u32) -> &[TurnStep] {
    if steps.first().is_none_or(|first| first.round != 1) {
        return &[];
    }
    let mut rounds = steps.split_inclusive(|step| step.calls.iter().any(is_of_client));
    usize::try_from(round).ok().and_then(|round| rounds.nth(round)).unwrap_or_default()
}

/// True if the client runs the call.
pub(crate) fn is_of_client(call: &StepCall) -> bool {
    call.ran_by == Some(RanBy::Client) || (call.is_pending && call.ran_by.is_none())
}

/// Returns the calls of a step that the server ran, with their results.
pub(crate) fn server_calls(step: &TurnStep) -> impl Iterator<Item = (&StepCall, &str)> {
    let calls = step.calls.iter().filter(|call| !is_of_client(call));
    calls.filter_map(|call| {
        let result = call.result_json.as_deref().or(call.error_message.as_deref())?;
        Some((call, result))
    })
}

/// The outcome of a turn's round. `None` while the turn works on it.
pub(crate) fn outcome(snapshot: &TurnSnapshot, round: u32) -> Option<Outcome> {
    if let Some(Suspension { text, calls, .. }) = snapshot.suspension(round).cloned() {
        return Some(Outcome::Calls { text, calls });
    }
    match Outcome::from_body(&snapshot.response.as_ref()?.to_bytes()) {
        Outcome::Failed { error, .. } => {
            let text = snapshot.partial_answer.clone().unwrap_or_default();
            Some(Outcome::Failed { error, text })
        }
        outcome => Some(outcome),
    }
}

/// Returns the messages of a turn, without its replies from the round `until` on.
pub(crate) fn of_turn(
    turn: &TurnRound,
    snapshot: &TurnSnapshot,
    steps: &[TurnStep],
    until: Option<u32>,
) -> Vec<Value> {
    let mut messages =
        Messages { turn: TurnRound { round: 0, ..turn.clone() }, position: 0, list: Vec::new() };
    messages.input(snapshot);
    for round in 0..=snapshot.head.round {
        if until == Some(round) {
            break;
        }
        messages.turn.round = round;
        messages.position = 0;
        messages.round(snapshot, steps_of_round(steps, round), round);
    }
    messages.list
}

struct Messages {
    /// The turn, and the round of the next message.
    turn: TurnRound,
    position: u64,
    list: Vec<Value>,
}

impl Messages {
    fn input(&mut self, snapshot: &TurnSnapshot) {
        let request = &snapshot.request;
        for (n, message) in request.ancestry.iter().enumerate() {
            let id = format!("{}:{n}", self.turn.turn);
            match message {
                ChatMessage::System(text) => self.push(&json!({"id": id, "role": "system", "content": text})),
                ChatMessage::User(UserMessage { text, .. }) => self.user(&id, text),
                ChatMessage::Assistant(text) => {
                    self.push(&json!({"id": id, "role": "assistant", "content": text}));
                }
                ChatMessage::Call(call) => {
                    let calls = [tool_call(&call.id, &call.name, &call.arguments)];
                    self.push(&json!({"id": id, "role": "assistant", "toolCalls": calls}));
                }
                ChatMessage::Result(result) => self.result(&id, &result.call_id, &result.output),
            }
        }
        if let Some(text) = &request.instruction {
            let id = StoredRun::of(request.options.as_deref()).messages.pop();
            self.user(&id.unwrap_or_else(|| format!("{}:input", self.turn.turn)), text);
        }
    }

    fn round(&mut self, snapshot: &TurnSnapshot, steps: &[TurnStep], round: u32) {
        let is_own = |step: &&TurnStep| step.kind == StepKind::Tools && !step.calls.iter().any(is_of_client);
        for step in steps.iter().filter(is_own) {
            let calls: Vec<(&StepCall, &str)> = server_calls(step).collect();
            let shown =
                calls.iter().map(|(call, _)| self.call(&call.tool_call_id, &call.name, &call.arguments_json));
            let shown: Vec<Value> = shown.collect();
            self.assistant(step.text.as_deref().unwrap_or_default(), &shown);
            self.server_results(&calls);
        }
        match outcome(snapshot, round) {
            Some(Outcome::Calls { text, calls }) => self.suspension(snapshot, steps, round, (&text, &calls)),
            Some(Outcome::Answer { text, .. } | Outcome::Failed { text, .. }) if !text.is_empty() => {
                self.assistant(&text, &[]);
            }
            Some(Outcome::Answer { .. } | Outcome::Failed { .. }) | None => {}
        }
    }

    /// Adds the calls of the client's tools, and of those that the server ran beside them.
    fn suspension(
        &mut self,
        snapshot: &TurnSnapshot,
        steps: &[TurnStep],
        round: u32,
        (text, calls): (&str, &[ToolCall]),
    ) {
        let own: Vec<(&StepCall, &str)> = steps.last().into_iter().flat_map(server_calls).collect();
        let own_shown =
            own.iter().map(|(call, _)| self.call(&call.tool_call_id, &call.name, &call.arguments_json));
        let shown = calls.iter().map(|call| self.call(&call.tool_call_id, &call.name, &call.arguments_json));
        let shown: Vec<Value> = own_shown.chain(shown).collect();
        self.assistant(text, &shown);
        self.server_results(&own);
        let Some(suspension) = snapshot.suspension(round) else { return };
        for result in &suspension.results {
            let call = id::call(&self.turn.turn, &result.tool_call_id);
            let (ToolOutcome::ResultJson(text) | ToolOutcome::ErrorMessage(text)) = &result.outcome;
            self.result(&id::result(&call), &call, text);
        }
        if let Some(text) = &suspension.message {
            self.user(&format!("{}:input:{round}", self.turn.turn), text);
        }
    }

    fn server_results(&mut self, calls: &[(&StepCall, &str)]) {
        for (call, result) in calls {
            let call = id::call(&self.turn.turn, &call.tool_call_id);
            self.result(&id::result(&call), &call, result);
        }
    }

    fn call(&self, call: &str, name: &str, arguments: &str) -> Value {
        tool_call(&id::call(&self.turn.turn, call), name, arguments)
    }

    fn user(&mut self, id: &str, text: &str) {
        self.push(&json!({"id": id, "role": "user", "content": text}));
    }

    fn assistant(&mut self, text: &str, calls: &[Value]) {
        let mut message =
            json!({"id": id::message(&self.turn, self.position), "role": "assistant", "content": text});
        self.position = self.position.saturating_add(1);
        if let Value::Object(members) = &mut message
            && !calls.is_empty()
        {
            members.insert("toolCalls".to_owned(), json!(calls));
        }
        self.push(&message);
    }

    fn result(&mut self, id: &str, call: &str, content: &str) {
        self.push(&json!({"id": id, "role": "tool", "toolCallId": call, "content": content}));
    }

    fn push(&mut self, message: &Value) {
        self.list.push(message.clone());
    }
}

fn tool_call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}
