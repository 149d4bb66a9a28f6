//! Runs a reply's server calls concurrently, each with a timeout, and answers every one.
//!
//! A call that goes wrong is a failed result for the model and never a failed turn. Effects are performed elsewhere,
//! by the agent loop. Panics aren't caught: one ends the process like any other, and the turn is taken over.

use std::{pin::pin, time::Duration};

use contracts::response::{ToolOutcome, ToolResult};
use futures::{
    StreamExt,
    future::{Either, select},
    stream,
};

use tracing::{Instrument, Span, field::Empty};

use super::{
    Definition, Effect, ExecutedBy, Limits, Registry, ToolError, ToolInput, ToolSuccess, TurnFacts,
    arguments::{self, ArgumentError},
    routing::client_call_error,
};
use crate::model::{FunctionCall, ToolOutput};
use crate::{text::truncate, tool::timer::Timer};

/// The maximum length of a failed result's text, in bytes.
const MAX_MESSAGE_BYTES: usize = 4_000;

/// A call with its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutedCall {
    /// The call.
    pub call: FunctionCall,
    /// The result or the error.
    pub outcome: ToolOutcome,
    /// The duration of the call.
    pub execution_ms: u64,
    /// The effects to perform. Empty if the call failed.
    pub effects: Vec<Effect>,
}

impl ExecutedCall {
    /// Returns the output for the model.
    #[must_use]
    pub fn output(&self) -> ToolOutput {
        ToolOutput { call: self.call.clone(), outcome: self.outcome.clone() }
    }

    /// Returns the result for the client.
    #[must_use]
    pub fn result(&self) -> ToolResult {
        ToolResult {
            tool_call_id: self.call.call_id.clone(),
            execution_ms: self.execution_ms,
            outcome: self.outcome.clone(),
        }
    }

    /// Returns true if the call requests a search of the sources.
    #[must_use]
    pub fn has_search(&self) -> bool {
        self.effects.iter().any(|effect| matches!(effect, Effect::SearchSources(_)))
    }

    /// Returns the call with the result of its effect.
    #[must_use]
    pub fn with_result(self, result: &serde_json::Value) -> Self {
        Self { outcome: ToolOutcome::ResultJson(result.to_string()), ..self }
    }

    /// Returns the call as failed, since its effects could not be performed.
    #[must_use]
    pub fn into_failed(self, message: &str) -> Self {
        let outcome = ToolOutcome::ErrorMessage(truncate(message.to_owned(), MAX_MESSAGE_BYTES));
        Self { outcome, effects: Vec::new(), ..self }
    }
}

/// Runs the calls of tools that the turn offers, and returns an outcome for each call in order.
pub async fn run_calls<W: Timer>(
    registry: &Registry,
    offered: &[Definition],
    calls: &[FunctionCall],
    facts: &TurnFacts,
    limits: &Limits,
    timer: &W,
) -> Vec<ExecutedCall> {
    let runner = Runner { registry, offered, facts, limits, timer };
    let runs: Vec<_> = calls.iter().enumerate().map(|(at, call)| runner.answer(at, call)).collect();
    stream::iter(runs).buffered(limits.parallel.get()).collect().await
}

/// Creates the span of a server tool's call, with OpenTelemetry's attributes for generative AI. Its name is one of the
/// service's tools, never one that a model made up (I14).
fn tool_span(call: &FunctionCall) -> Span {
    tracing::error_span!(
        "tool",
        otel.name = format!("execute_tool {}", call.name),
        otel.status_code = Empty,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = call.name,
        gen_ai.tool.call.id = call.call_id,
        gen_ai.tool.r#type = "function",
    )
}

/// The reason a call failed. The texts are for the model.
#[derive(Debug, thiserror::Error)]
enum CallError {
    #[error("One reply may make at most {0} calls; this one was not run. Make it again in your next reply.")]
    TooMany(usize),
    #[error("There is no such tool in this turn. There are: {0}.")]
    NotOffered(String),
    #[error("This tool is no longer available. Continue without it.")]
    Unregistered,
    #[error(transparent)]
    Arguments(#[from] ArgumentError),
    #[error("The tool did not finish within {} ms and was stopped.", .0.as_millis())]
    TimedOut(Duration),
    #[error("The tool's result is too large: {size} bytes, at most {max} are passed on. Ask for less.")]
    TooLarge { size: usize, max: usize },
    #[error(transparent)]
    Tool(#[from] ToolError),
}

/// State that every call of a reply shares.
struct Runner<'a, W> {
    registry: &'a Registry,
    offered: &'a [Definition],
    facts: &'a TurnFacts,
    limits: &'a Limits,
    timer: &'a W,
}

impl<W: Timer> Runner<'_, W> {
    async fn answer(&self, at: usize, call: &FunctionCall) -> ExecutedCall {
        let started = self.timer.monotonic();
        let result = if at < self.limits.calls {
            self.run(call).await
        } else {
            Err(CallError::TooMany(self.limits.calls))
        };
        let elapsed = self.timer.monotonic().saturating_sub(started);
        let (outcome, effects) = match result {
            Ok((json, effects)) => (ToolOutcome::ResultJson(json), effects),
            Err(error) => {
                (ToolOutcome::ErrorMessage(truncate(error.to_string(), MAX_MESSAGE_BYTES)), Vec::new())
            }
        };
        let execution_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        ExecutedCall { call: call.clone(), outcome, execution_ms, effects }
    }

    async fn run(&self, call: &FunctionCall) -> Result<(String, Vec<Effect>), CallError> {
        match self.offered.iter().find(|tool| tool.name == call.name) {
            None => return Err(CallError::NotOffered(self.names())),
            // A call of a client tool is here if the client can't answer it, or has reached its limit.
            Some(tool) if tool.executed_by == ExecutedBy::Client => {
                let error = client_call_error(self.offered, call, self.limits);
                return Err(error.map_or(CallError::TooMany(self.limits.calls), CallError::Arguments));
            }
            Some(_) => {}
        }
        // The list was stored with the turn; a redeploy since may have removed the tool.
        let entry = self.registry.entry(&call.name).ok_or(CallError::Unregistered)?;
        // Use the schema of the current code, not the stored one: it is the one that the code supports.
        let schema = entry.schema().ok_or(CallError::Unregistered)?;
        let arguments = arguments::parse(&call.arguments, schema, self.limits.argument_bytes)?;
        let span = tool_span(call);
        let running = entry.tool.run(ToolInput { arguments: &arguments, facts: self.facts });
        let timer = pin!(self.timer.sleep(self.limits.timeout));
        let produced = match select(pin!(running.instrument(span.clone())), timer).await {
            Either::Left((produced, _)) => produced.map_err(CallError::from),
            Either::Right(_) => Err(CallError::TimedOut(self.limits.timeout)),
        };
        let ToolSuccess { result, effects } =
            produced.inspect_err(|_| _ = span.record("otel.status_code", "ERROR"))?;
        let json = result.to_string();
        if json.len() > self.limits.result_bytes {
            return Err(CallError::TooLarge { size: json.len(), max: self.limits.result_bytes });
        }
        Ok((json, effects))
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.offered.iter().map(|tool| tool.name.as_str()).collect();
        names.join(", ")
    }
}

#[cfg(test)]
mod tests;
