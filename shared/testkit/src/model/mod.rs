//! A scripted model: every call gets another answer, so that no two can be taken for each other. It calls
//! the tools that the instruction spells, and holds whoever chains from a reply to answering its calls.

mod calls;
mod provider;

use std::time::Duration;

use agent::model::{
    Chain, Error, FunctionCall, Instruction, Item, Model, Observer, Reply, Request, Told, ToolOutput,
};
use contracts::Usage;
use protocol::id::TurnKey;
use turns::ports::Timer;

use provider::Stored;

pub use calls::is_clients;
pub use provider::Provider;

use crate::{
    fault::{Effect, Fault},
    ledger::{Event, SentRequest},
    schedule::Process,
};

/// How the model behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Script {
    /// The longest a reply takes.
    pub slowest: Duration,
    /// Replies that are errors, in parts of a hundred.
    pub errors: u32,
    /// Chained requests whose chain the model has forgotten, in parts of a hundred.
    pub forgets: u32,
}

impl Script {
    /// Answers at once, always.
    pub const PROMPT: Self = Self { slowest: Duration::ZERO, errors: 0, forgets: 0 };
}

/// The model as one process of one turn reaches it.
#[derive(Debug, Clone)]
pub struct ScriptedModel {
    pub script: Script,
    pub provider: Provider,
    pub process: Process,
    pub turn: TurnKey,
}

/// Notes that a call is over, also when it is dropped.
struct UnderWay<'a>(&'a ScriptedModel);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let (process, turn) = (self.0.process.id(), self.0.turn.clone());
        self.0.process.ledger().note(Event::ModelLeft { process, turn });
    }
}

impl Model for ScriptedModel {
    async fn reply(
        &self,
        request: &Request,
        deadline: Duration,
        observer: &mut Observer<'_>,
    ) -> Result<Reply, Error> {
        let (process, turn) = (self.process.id(), self.turn.clone());
        let sent = SentRequest::of(request);
        self.process.ledger().note(Event::ModelCalled { process, turn, sent });
        let _under_way = UnderWay(self);
        let fault = self.process.reach(Effect::CallModel).await;
        let takes = self.takes();
        self.process.sleep(takes.min(deadline)).await;
        let reply = match fault {
            Some(Fault::NotApplied) => Err(Error::UNAVAILABLE),
            Some(Fault::Throttled(_)) => Err(Error::RateLimited { retry_after: None }),
            Some(Fault::ReplyLost | Fault::LandsLate) => Err(Error::TimedOut),
            _ if takes > deadline => Err(Error::TimedOut),
            _ => self.answer(request, observer),
        };
        if let Ok(reply) = &reply {
            (observer.deltas)(&reply.text);
        }
        self.process.leave(fault).await;
        reply
    }
}

/// Whether every call that is told has its output, in the message that follows it.
fn all_answered(told: &[Told], outputs: &[ToolOutput]) -> bool {
    let mut open: Vec<&FunctionCall> = Vec::new();
    let answers = |outputs: &[ToolOutput], open: &mut Vec<&FunctionCall>| {
        let all = open.iter().map(|call| &call.call_id).eq(outputs.iter().map(|output| &output.call.call_id));
        open.clear();
        all
    };
    let before = told.iter().all(|told| match told {
        Told::Said(message) => answers(&message.tool_outputs, &mut open),
        Told::Replied(items) => {
            open.extend(items.iter().filter_map(|item| match item {
                Item::Call(call) => Some(call),
                Item::Text(_) | Item::Reasoning(_) | Item::Hosted(_) => None,
            }));
            true
        }
    });
    before && answers(outputs, &mut open)
}

impl ScriptedModel {
    fn takes(&self) -> Duration {
        let clock = self.process.clock();
        let slowest = if clock.is_calm() { Duration::from_secs(2) } else { self.script.slowest };
        // Most replies are quick; some take all the time they may.
        let part = clock.draw(fastrand::Rng::f64).powi(3);
        self.script.slowest.min(slowest).mul_f64(part)
    }

    fn answer(&self, request: &Request, observer: &mut Observer<'_>) -> Result<Reply, Error> {
        let earlier = self.earlier(request)?;
        let draw = self.process.clock().draw(|chance| chance.u32(0..100));
        let is_chained = matches!(request.chain, Chain::Continues { .. });
        if is_chained && draw < self.script.forgets {
            return Err(Error::ChainLost);
        }
        if draw >= 100 - self.script.errors {
            return Err(Error::UNAVAILABLE);
        }
        let number = self.provider.next();
        let instruction = match &request.message.instruction {
            Instruction::User(text) => text.as_str(),
            Instruction::FilesAlone | Instruction::ToolResults => "",
        };
        // A request that begins a chain in the middle of a turn tells the instruction again, with what was done.
        let mut to_come = match earlier {
            Some(earlier) if !request.message.tool_outputs.is_empty() => earlier.to_come,
            Some(_) | None => calls::script(instruction),
        };
        observer.usage = Some(Usage {
            prompt_tokens: number,
            completion_tokens: 1,
            total_tokens: number + 1,
            ..Usage::default()
        });
        let word = if to_come.is_empty() { String::new() } else { to_come.remove(0) };
        let calls = calls::of(&word, number);
        assert!(calls::are_offered(&calls, request), "a scripted tool is not offered: {calls:?}");
        let response_id = provider::response_id(number);
        let kept = request.store;
        let stored = Stored { model: request.model.clone(), kept, calls: calls.clone(), to_come };
        self.provider.store(response_id.clone(), stored);
        Ok(Reply {
            response_id,
            model: request.model.clone(),
            text: format!("Answer {number} to: {instruction}"),
            calls,
            kept,
            cut_short: false,
            restated: false,
            reasoning: Vec::new(),
            hosted: Vec::new(),
        })
    }

    /// The reply that the request goes on from: the response that it chains from, or the one whose calls it
    /// answers. Like the real one, the provider refuses a request that leaves a call without an output; I6 is
    /// judged by what is noted here.
    fn earlier(&self, request: &Request) -> Result<Option<Stored>, Error> {
        let (turn, outputs) = (self.turn.clone(), request.message.tool_outputs.clone());
        let stored = match &request.chain {
            Chain::Continues { previous_response_id } => {
                let stored = self.provider.recall(previous_response_id).ok_or(Error::ChainLost)?;
                if stored.model != request.model {
                    let (wrote, model) = (stored.model.clone(), request.model.clone());
                    let turn = turn.clone();
                    self.process.ledger().note(Event::ChainedAcross { turn, wrote, model });
                }
                stored
            }
            Chain::Initial { told, .. } => {
                let Some(last) = outputs.last() else { return Ok(None) };
                let Some(stored) = self.provider.that_called(&last.call) else {
                    return Err(Error::Rejected { status: 400 });
                };
                if !all_answered(told, &outputs) {
                    return Err(Error::Rejected { status: 400 });
                }
                stored
            }
        };
        let is_answered = stored.calls.iter().eq(outputs.iter().map(|output| &output.call));
        self.process.ledger().note(Event::Chained { turn, calls: stored.calls.clone(), outputs });
        if is_answered { Ok(Some(stored)) } else { Err(Error::Rejected { status: 400 }) }
    }
}
