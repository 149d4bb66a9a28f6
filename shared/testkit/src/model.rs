//! A scripted model: every call gets another answer, so that no two can be taken for each other.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use contracts::Usage;
use turns::{
    id::TurnKey,
    model::{Chain, Error, Heard, Instruction, Model, Reply, Request},
    ports::World,
};

use crate::{
    faulty::{Effect, Fault},
    ledger::Event,
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

/// The calls of a run so far. Handles share it.
#[derive(Debug, Clone, Default)]
pub struct Calls(Arc<Mutex<u64>>);

impl Calls {
    fn next(&self) -> u64 {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *calls += 1;
        *calls
    }

    /// How many there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The model as one process of one turn reaches it.
#[derive(Debug, Clone)]
pub struct ScriptedModel {
    pub script: Script,
    pub calls: Calls,
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
        heard: &mut Heard<'_>,
    ) -> Result<Reply, Error> {
        let (process, turn) = (self.process.id(), self.turn.clone());
        self.process.ledger().note(Event::ModelCalled { process, turn });
        let _under_way = UnderWay(self);
        let fault = self.process.reach(Effect::CallModel).await;
        let takes = self.takes();
        self.process.sleep(takes.min(deadline)).await;
        let reply = match fault {
            Some(Fault::NotApplied) => Err(Error::Unavailable),
            Some(Fault::Throttled(_)) => Err(Error::RateLimited { retry_after: None }),
            Some(Fault::ReplyLost | Fault::LandsLate) => Err(Error::TimedOut),
            _ if takes > deadline => Err(Error::TimedOut),
            _ => self.answer(request, heard),
        };
        if let Ok(reply) = &reply {
            (heard.deltas)(&reply.text);
        }
        self.process.leave(fault).await;
        reply
    }
}

impl ScriptedModel {
    fn takes(&self) -> Duration {
        let clock = self.process.clock();
        let slowest = if clock.is_calm() { Duration::from_secs(2) } else { self.script.slowest };
        // Most replies are quick; some take all the time they may.
        let part = clock.draw(fastrand::Rng::f64).powi(3);
        self.script.slowest.min(slowest).mul_f64(part)
    }

    fn answer(&self, request: &Request, heard: &mut Heard<'_>) -> Result<Reply, Error> {
        let chained = matches!(request.chain, Chain::Continues { .. });
        let draw = self.process.clock().draw(|chance| chance.u32(0..100));
        if chained && draw < self.script.forgets {
            return Err(Error::ChainLost);
        }
        if draw >= 100 - self.script.errors {
            return Err(Error::Unavailable);
        }
        let number = self.calls.next();
        let asked = match &request.instruction {
            Instruction::User(text) => text.as_str(),
            Instruction::FilesAlone | Instruction::ToolResults => "",
        };
        heard.usage = Some(Usage {
            prompt_tokens: number,
            completion_tokens: 1,
            total_tokens: number + 1,
            ..Usage::default()
        });
        Ok(Reply {
            response_id: format!("resp_{number}"),
            model: request.model.clone(),
            text: format!("Answer {number} to: {asked}"),
            calls: Vec::new(),
        })
    }
}
