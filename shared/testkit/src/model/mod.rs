//! A mock model. Every reply is different, so that none can be mistaken for another. It makes the calls that the
//! instruction spells, and requires every continuation to answer them.

mod calls;
mod provider;

use std::time::Duration;

use agent::model::{
    Chain, Error, FunctionCall, HistoryItem, Instruction, Model, Observer, Reply, ReplyItem, Request,
    ToolOutput,
};
use contracts::Usage;
use protocol::id::TurnKey;
use turns::ports::Timer;

use provider::StoredResponse;

pub use calls::is_clients;
pub use provider::Provider;

use crate::{
    fault::{Effect, Fault},
    ledger::{Event, ModelRequest},
    schedule::Process,
};

/// The behaviour of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Script {
    /// The longest latency of a reply.
    pub max_latency: Duration,
    /// The percentage of replies that are errors.
    pub error_percent: u32,
    /// The percentage of chained requests whose chain is lost.
    pub chain_loss_percent: u32,
}

impl Script {
    /// Always replies at once.
    pub const PROMPT: Self = Self { max_latency: Duration::ZERO, error_percent: 0, chain_loss_percent: 0 };
}

/// The model as one process of one turn uses it.
#[derive(Debug, Clone)]
pub struct MockModel {
    pub script: Script,
    pub provider: Provider,
    pub process: Process,
    pub turn: TurnKey,
}

/// Records the end of a call, even if it is dropped.
struct CallGuard<'a>(&'a MockModel);

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        let (process, turn) = (self.0.process.id(), self.0.turn.clone());
        self.0.process.ledger().record(Event::ModelCallEnded { process, turn });
    }
}

impl Model for MockModel {
    async fn reply(
        &self,
        request: &Request,
        deadline: Duration,
        observer: &mut Observer<'_>,
    ) -> Result<Reply, Error> {
        let (process, turn) = (self.process.id(), self.turn.clone());
        let sent = ModelRequest::new(request);
        self.process.ledger().record(Event::ModelCalled { process, turn, sent });
        let _guard = CallGuard(self);
        observer.meter.send();
        if request.store {
            observer.meter.identify(provider::RUNNING.to_owned());
        }
        let fault = self.process.reach(Effect::CallModel).await;
        let latency = self.latency();
        self.process.sleep(latency.min(deadline)).await;
        let reply = match fault {
            Some(Fault::NotApplied) => refused(observer, Error::UNAVAILABLE),
            Some(Fault::Throttled(_)) => refused(observer, Error::RateLimited { retry_after: None }),
            Some(Fault::ReplyLost | Fault::AppliedLate) => Err(Error::TimedOut),
            _ if latency > deadline => Err(Error::TimedOut),
            _ => self.answer(request, observer).or_else(|error| refused(observer, error)),
        };
        if let Ok(reply) = &reply {
            observer.push_text(&reply.text);
        }
        self.process.leave(fault).await;
        reply
    }
}

/// Ends a call that costs nothing.
fn refused<T>(observer: &Observer<'_>, error: Error) -> Result<T, Error> {
    observer.meter.refuse();
    Err(error)
}

/// Returns true if every call in the history has its output in the message that follows.
fn all_calls_answered(history: &[HistoryItem], outputs: &[ToolOutput]) -> bool {
    let mut open: Vec<&FunctionCall> = Vec::new();
    let answers = |outputs: &[ToolOutput], open: &mut Vec<&FunctionCall>| {
        let all = open.iter().map(|call| &call.call_id).eq(outputs.iter().map(|output| &output.call.call_id));
        open.clear();
        all
    };
    let before = history.iter().all(|item| match item {
        HistoryItem::Message(message) => answers(&message.tool_outputs, &mut open),
        HistoryItem::Reply(items) => {
            open.extend(items.iter().filter_map(|item| match item {
                ReplyItem::Call(call) => Some(call),
                ReplyItem::Text { .. } | ReplyItem::Reasoning(_) | ReplyItem::Hosted(_) => None,
            }));
            true
        }
    });
    before && answers(outputs, &mut open)
}

impl MockModel {
    fn latency(&self) -> Duration {
        let clock = self.process.clock();
        let max_latency =
            if clock.faults_stopped() { Duration::from_secs(2) } else { self.script.max_latency };
        // Most replies are quick, and a few take the whole time.
        let part = clock.draw(fastrand::Rng::f64).powi(3);
        self.script.max_latency.min(max_latency).mul_f64(part)
    }

    fn answer(&self, request: &Request, observer: &mut Observer<'_>) -> Result<Reply, Error> {
        let previous_reply = self.previous_reply(request)?;
        let draw = self.process.clock().draw(|chance| chance.u32(0..100));
        let is_chained = matches!(request.chain, Chain::Continues { .. });
        if is_chained && draw < self.script.chain_loss_percent {
            return Err(Error::ChainLost);
        }
        if draw >= 100 - self.script.error_percent {
            return Err(Error::UNAVAILABLE);
        }
        let number = self.provider.next();
        let instruction = match &request.message.instruction {
            Instruction::User(text) => text.as_str(),
            Instruction::FilesAlone | Instruction::ToolResults => "",
        };
        // A request that starts a chain in the middle of a turn repeats the instruction with the calls so far.
        let mut remaining = match previous_reply {
            Some(previous_reply) if !request.message.tool_outputs.is_empty() => previous_reply.remaining,
            Some(_) | None => calls::script(instruction),
        };
        observer.add_usage(Some(Usage {
            prompt_tokens: number,
            completion_tokens: 1,
            total_tokens: number + 1,
            ..Usage::default()
        }));
        let paid = Event::ModelPaid { turn: self.turn.clone(), tokens: number + 1 };
        self.process.ledger().record(paid);
        let word = if remaining.is_empty() { String::new() } else { remaining.remove(0) };
        let calls = calls::parse(&word, number);
        assert!(calls::are_offered(&calls, request), "a scripted tool is not offered: {calls:?}");
        let response_id = provider::response_id(number);
        let kept = request.store;
        let stored = StoredResponse { model: request.model.clone(), kept, calls: calls.clone(), remaining };
        self.provider.store(response_id.clone(), stored);
        Ok(Reply {
            response_id,
            model: request.model.clone(),
            text: format!("Answer {number} to: {instruction}"),
            calls,
            is_stored: kept,
            is_truncated: false,
            replaces_stream: false,
            reasoning: Vec::new(),
            hosted: Vec::new(),
            text_parts: Vec::new(),
        })
    }

    /// Returns the reply that the request continues: the response that it chains from, or the one whose calls it
    /// answers. Like a real provider, rejects a request with unanswered calls. Records what the check of I6 needs.
    fn previous_reply(&self, request: &Request) -> Result<Option<StoredResponse>, Error> {
        let (turn, outputs) = (self.turn.clone(), request.message.tool_outputs.clone());
        let stored = match &request.chain {
            Chain::Continues { previous_response_id } => {
                let stored = self.provider.recall(previous_response_id).ok_or(Error::ChainLost)?;
                if stored.model != request.model {
                    let (wrote, model) = (stored.model.clone(), request.model.clone());
                    let turn = turn.clone();
                    self.process.ledger().record(Event::ChainedAcrossModels { turn, wrote, model });
                }
                stored
            }
            Chain::Initial { history, .. } => {
                let Some(last) = outputs.last() else { return Ok(None) };
                let Some(stored) = self.provider.response_with_call(&last.call) else {
                    return Err(Error::Rejected { status: 400 });
                };
                if !all_calls_answered(history, &outputs) {
                    return Err(Error::Rejected { status: 400 });
                }
                stored
            }
        };
        let is_answered = stored.calls.iter().eq(outputs.iter().map(|output| &output.call));
        self.process.ledger().record(Event::Chained { turn, calls: stored.calls.clone(), outputs });
        if is_answered { Ok(Some(stored)) } else { Err(Error::Rejected { status: 400 }) }
    }
}
