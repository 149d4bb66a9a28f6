//! Runs a reply's server calls: some at a time, each for a while, every one answered.
//!
//! Whatever goes wrong with a call is a failed result for the model and never a failed turn (AGN-033
//! §5.2). Deliberately absent: performing effects, which the loop does once it may; and catching a
//! panic, which ends the process like any other, and the turn is taken over.

use std::{num::NonZeroUsize, pin::pin, time::Duration};

use contracts::response::{ToolOutcome, ToolResult};
use futures::{
    StreamExt,
    future::{Either, select},
    stream,
};

use super::{
    Definition, Effect, ExecutedBy, Facts, Failure, Produced, Registry, ToolInput,
    answerer::{Unanswerable, unanswerable},
    arguments::{self, Unfit},
};
use crate::model::{FunctionCall, ToolOutput};
use crate::{text::cut, timer::Timer};

/// How long a failed result's text may be, in bytes.
const MAX_MESSAGE_BYTES: usize = 4_000;

/// What one reply's calls may take (I13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many calls run beside each other.
    pub parallel: NonZeroUsize,
    /// How many calls of one reply run at all; the ones after them fail.
    pub calls: usize,
    /// How long one call may take.
    pub timeout: Duration,
    /// How long its arguments may be.
    pub argument_bytes: usize,
    /// How long its result may be, as JSON text.
    pub result_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            parallel: NonZeroUsize::MIN.saturating_add(3),
            calls: 64,
            timeout: Duration::from_secs(30),
            argument_bytes: 2 * 1024 * 1024,
            result_bytes: 256 * 1024,
        }
    }
}

impl Limits {
    /// These limits for a turn that has so much time left.
    #[must_use]
    pub fn within(self, left: Duration) -> Self {
        Self { timeout: self.timeout.min(left), ..self }
    }
}

/// A call that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executed {
    /// The call.
    pub call: FunctionCall,
    /// Result or error.
    pub outcome: ToolOutcome,
    /// How long it took.
    pub execution_ms: u64,
    /// What is to happen now; nothing when the call failed.
    pub effects: Vec<Effect>,
}

impl Executed {
    /// What the model is told.
    #[must_use]
    pub fn output(&self) -> ToolOutput {
        ToolOutput { call: self.call.clone(), outcome: self.outcome.clone() }
    }

    /// What the client is told (AGN-033 §5.3).
    #[must_use]
    pub fn result(&self) -> ToolResult {
        ToolResult {
            tool_call_id: self.call.call_id.clone(),
            execution_ms: self.execution_ms,
            outcome: self.outcome.clone(),
        }
    }

    /// Whether it wants the sources searched.
    #[must_use]
    pub fn searches(&self) -> bool {
        self.effects.iter().any(|effect| matches!(effect, Effect::SearchSources(_)))
    }

    /// The call with the result that its effect brought.
    #[must_use]
    pub fn with_result(self, result: &serde_json::Value) -> Self {
        Self { outcome: ToolOutcome::ResultJson(result.to_string()), ..self }
    }

    /// The call as one that failed after all, since its effects could not be performed.
    #[must_use]
    pub fn into_failed(self, message: &str) -> Self {
        let outcome = ToolOutcome::ErrorMessage(cut(message.to_owned(), MAX_MESSAGE_BYTES));
        Self { outcome, effects: Vec::new(), ..self }
    }
}

/// Runs the calls, as far as the turn offers their tools, and answers each of them in order.
pub async fn run_all<W: Timer>(
    registry: &Registry,
    offered: &[Definition],
    calls: &[FunctionCall],
    facts: &Facts,
    limits: &Limits,
    timer: &W,
) -> Vec<Executed> {
    let runner = Runner { registry, offered, facts, limits, timer };
    let runs: Vec<_> = calls.iter().enumerate().map(|(at, call)| runner.answer(at, call)).collect();
    stream::iter(runs).buffered(limits.parallel.get()).collect().await
}

/// Why a call came to nothing, for the model.
#[derive(Debug, thiserror::Error)]
enum Stopped {
    #[error("One reply may make at most {0} calls; this one was not run. Make it again in your next reply.")]
    TooMany(usize),
    #[error("There is no such tool in this turn. There are: {0}.")]
    NotOffered(String),
    #[error(transparent)]
    Unanswerable(#[from] Unanswerable),
    #[error("This tool is no longer available. Go on without it.")]
    Gone,
    #[error(transparent)]
    Unfit(#[from] Unfit),
    #[error("The tool did not finish within {} ms and was stopped.", .0.as_millis())]
    TimedOut(Duration),
    #[error("The tool's result is too large: {size} bytes, at most {most} are passed on. Ask for less.")]
    TooLarge { size: usize, most: usize },
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// What every call of a reply shares.
struct Runner<'a, W> {
    registry: &'a Registry,
    offered: &'a [Definition],
    facts: &'a Facts,
    limits: &'a Limits,
    timer: &'a W,
}

impl<W: Timer> Runner<'_, W> {
    async fn answer(&self, at: usize, call: &FunctionCall) -> Executed {
        let started = self.timer.monotonic();
        let ran = if at < self.limits.calls {
            self.run(call).await
        } else {
            Err(Stopped::TooMany(self.limits.calls))
        };
        let took = self.timer.monotonic().saturating_sub(started);
        let (outcome, effects) = match ran {
            Ok((json, effects)) => (ToolOutcome::ResultJson(json), effects),
            Err(why) => (ToolOutcome::ErrorMessage(cut(why.to_string(), MAX_MESSAGE_BYTES)), Vec::new()),
        };
        let execution_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        Executed { call: call.clone(), outcome, execution_ms, effects }
    }

    async fn run(&self, call: &FunctionCall) -> Result<(String, Vec<Effect>), Stopped> {
        match self.offered.iter().find(|tool| tool.name == call.name) {
            None => return Err(Stopped::NotOffered(self.names())),
            // A client's call is here because the client can't answer it, or has enough of them.
            Some(tool) if tool.executed_by == ExecutedBy::Client => {
                let why = unanswerable(self.offered, call, self.limits);
                return Err(why.map_or(Stopped::TooMany(self.limits.calls), Stopped::Unanswerable));
            }
            Some(_) => {}
        }
        // The list was stored with the turn; a redeploy since may have taken the tool away.
        let entry = self.registry.entry(&call.name).ok_or(Stopped::Gone)?;
        // The schema of today's code, not the stored one: it says what the code can take.
        let schema = entry.schema().ok_or(Stopped::Gone)?;
        let arguments = arguments::read(&call.arguments, schema, self.limits.argument_bytes)?;
        let running = entry.tool.run(ToolInput { arguments: &arguments, facts: self.facts });
        let timer = pin!(self.timer.sleep(self.limits.timeout));
        let Produced { result, effects } = match select(running, timer).await {
            Either::Left((produced, _)) => produced?,
            Either::Right(_) => return Err(Stopped::TimedOut(self.limits.timeout)),
        };
        let json = result.to_string();
        if json.len() > self.limits.result_bytes {
            return Err(Stopped::TooLarge { size: json.len(), most: self.limits.result_bytes });
        }
        Ok((json, effects))
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.offered.iter().map(|tool| tool.name.as_str()).collect();
        names.join(", ")
    }
}

#[cfg(test)]
pub(super) mod tests;
