//! Runs a reply's server calls concurrently, each with a timeout, and answers every one.
//!
//! A call that goes wrong is a failed result for the model and never a failed turn. Effects are performed elsewhere,
//! by the agent loop. Panics aren't caught: one ends the process like any other, and the turn is taken over.

use std::{collections::BTreeMap, pin::pin, time::Duration};

use contracts::{
    gen_ai,
    response::{ToolOutcome, ToolResult},
};
use futures::{
    StreamExt,
    future::{Either, select},
    stream,
};

use protocol::tool_use::ToolUse;
use serde_json::Value;
use tracing::{Instrument, Span, field::Empty};

use super::{
    Definition, Effect, ExecutedBy, Limits, READ_RESULT, Registry, ToolError, ToolInput, ToolSuccess,
    TurnFacts,
    arguments::{self, ArgumentError},
    remote::RemoteTool,
    routing::client_call_error,
    schema::Schema,
    stored_result::MAX_DIRECT_BYTES,
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

    /// Returns the JSON of a result that is too long for the model.
    #[must_use]
    pub fn long_result(&self) -> Option<&str> {
        match &self.outcome {
            ToolOutcome::ResultJson(json) if json.len() > MAX_DIRECT_BYTES => Some(json),
            ToolOutcome::ResultJson(_) | ToolOutcome::ErrorMessage(_) => None,
        }
    }

    /// Returns the call as failed, since its effects could not be performed.
    #[must_use]
    pub fn into_failed(self, message: &str) -> Self {
        let outcome = ToolOutcome::ErrorMessage(truncate(message.to_owned(), MAX_MESSAGE_BYTES));
        Self { outcome, effects: Vec::new(), ..self }
    }
}

/// The tools that a turn offers, as it stores them, and the code of the built-in ones.
#[derive(Debug, Clone, Copy)]
pub struct OfferedTools<'a> {
    /// The built-in tools.
    pub registry: &'a Registry,
    /// The definitions that the model gets.
    pub definitions: &'a [Definition],
    /// The remote ones among them.
    pub remote: &'a [RemoteTool],
    /// The calls of remote tools that the turn has made.
    pub used: &'a BTreeMap<String, ToolUse>,
}

/// A call of a remote tool that may be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidRemoteCall<'a> {
    /// Its place among the server's calls of the reply.
    pub at: usize,
    /// The tool.
    pub tool: &'a RemoteTool,
    /// The arguments, which match the tool's schema.
    pub arguments: Value,
}

/// Runs valid calls of remote tools.
pub trait RemoteRunner: Sync {
    /// Runs a call to its end, and limits its time itself.
    fn run(&self, call: ValidRemoteCall<'_>) -> impl Future<Output = Result<ToolSuccess, ToolError>> + Send;
}

impl<'a> OfferedTools<'a> {
    /// Returns the calls of remote tools that may be sent: within the limit, and with valid arguments.
    #[must_use]
    pub fn remote_calls(&self, calls: &[FunctionCall], limits: &Limits) -> Vec<ValidRemoteCall<'a>> {
        let valid = |(at, call): (usize, &FunctionCall)| {
            let tool = self.remote_tool(&call.name)?;
            let arguments = remote_arguments(tool, call, limits).ok()?;
            if self.exceeded(calls, at, tool).is_some() {
                return None;
            }
            Some(ValidRemoteCall { at, tool, arguments })
        };
        calls.iter().enumerate().take(limits.calls).filter_map(valid).collect()
    }

    /// Returns the limit of a tool that the call at this place exceeds. Earlier calls of the reply count, whatever becomes of
    /// them.
    fn exceeded(&self, calls: &[FunctionCall], at: usize, tool: &RemoteTool) -> Option<u32> {
        let name = &tool.definition.name;
        let earlier = calls.iter().take(at).filter(|call| call.name == *name).count();
        let before = self.used.get(name).map_or(0, |used| used.calls);
        let made = before.saturating_add(u32::try_from(earlier).unwrap_or(u32::MAX));
        tool.terms.max_calls_per_turn.filter(|max| made >= *max)
    }

    /// True if the model can read a long result in parts.
    #[must_use]
    pub fn reads_results(&self) -> bool {
        let is_reader =
            |tool: &Definition| tool.name == READ_RESULT && tool.executed_by == ExecutedBy::Server;
        self.definitions.iter().any(is_reader)
    }

    /// Returns the remote tool of this name. A client's tool of the same name hides it.
    fn remote_tool(&self, name: &str) -> Option<&'a RemoteTool> {
        let offered = self.definitions.iter().find(|tool| tool.name == name)?;
        let is_server = offered.executed_by == ExecutedBy::Server;
        self.remote.iter().find(|tool| is_server && tool.definition.name == name)
    }
}

/// Parses the arguments of a remote tool's call. Its schema is the stored one, which the model got.
fn remote_arguments(tool: &RemoteTool, call: &FunctionCall, limits: &Limits) -> Result<Value, CallError> {
    let schema = Schema::compile(&tool.definition.parameters).map_err(|_| CallError::Unregistered)?;
    Ok(arguments::parse(&call.arguments, &schema, limits.argument_bytes)?)
}

/// Runs the calls of tools that the turn offers, and returns an outcome for each call in order.
pub async fn run_calls<W: Timer>(
    tools: &OfferedTools<'_>,
    calls: &[FunctionCall],
    facts: &TurnFacts,
    limits: &Limits,
    timer: &W,
    remote: &impl RemoteRunner,
) -> Vec<ExecutedCall> {
    let runner = Runner { tools, calls, facts, limits, timer, remote };
    let runs: Vec<_> = calls.iter().enumerate().map(|(at, call)| runner.answer(at, call)).collect();
    stream::iter(runs).buffered(limits.parallel.get()).collect().await
}

/// Creates the span of a server tool's call, with OpenTelemetry's attributes for generative AI. Its name is one of the
/// service's tools, never one that a model made up (I14).
///
/// For a tool of a connection, its runner records the outcome, the size of the result and the attributes for MCP. OpenTelemetry's
/// conventions want those on this span, since a span of their own would be of the same call.
fn tool_span(call: &FunctionCall, remote: Option<&RemoteTool>) -> Span {
    let tool_type = if remote.is_some() { gen_ai::EXTENSION } else { gen_ai::FUNCTION };
    tracing::error_span!(
        "tool",
        connection = remote.map(|tool| tool.connection.as_str()),
        connection_version = remote.map(|tool| tool.revision),
        tool_outcome = Empty,
        result_bytes = Empty,
        otel.name = format!("{} {}", gen_ai::EXECUTE_TOOL, call.name),
        otel.status_code = Empty,
        error.type = Empty,
        server.address = Empty,
        { gen_ai::MCP_METHOD_NAME } = Empty,
        { gen_ai::MCP_PROTOCOL_VERSION } = Empty,
        { gen_ai::MCP_SESSION_ID } = Empty,
        { gen_ai::OPERATION_NAME } = gen_ai::EXECUTE_TOOL,
        { gen_ai::TOOL_NAME } = call.name,
        { gen_ai::TOOL_CALL_ID } = call.call_id,
        { gen_ai::TOOL_TYPE } = tool_type,
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
    #[error("A turn may call this tool {0} times, so this call was not sent. Continue without it.")]
    LimitReached(u32),
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
struct Runner<'a, W, R> {
    tools: &'a OfferedTools<'a>,
    calls: &'a [FunctionCall],
    facts: &'a TurnFacts,
    limits: &'a Limits,
    timer: &'a W,
    remote: &'a R,
}

impl<W: Timer, R: RemoteRunner> Runner<'_, W, R> {
    async fn answer(&self, at: usize, call: &FunctionCall) -> ExecutedCall {
        let started = self.timer.monotonic();
        let result = if at < self.limits.calls {
            self.run(at, call).await
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

    async fn run(&self, at: usize, call: &FunctionCall) -> Result<(String, Vec<Effect>), CallError> {
        match self.tools.definitions.iter().find(|tool| tool.name == call.name) {
            None => return Err(CallError::NotOffered(self.names())),
            // A call of a client tool is here if the client can't answer it, or has reached its limit.
            Some(tool) if tool.executed_by == ExecutedBy::Client => {
                let error = client_call_error(self.tools.definitions, call, self.limits);
                return Err(error.map_or(CallError::TooMany(self.limits.calls), CallError::Arguments));
            }
            Some(_) => {}
        }
        let remote = self.tools.remote_tool(&call.name);
        let produced = match remote {
            Some(tool) => self.run_remote(at, tool, call).await?,
            None => self.run_built_in(call).await?,
        };
        let json = produced.result.to_string();
        // The model gets a long result of a connection by reference.
        if json.len() > self.limits.result_bytes && !(remote.is_some() && self.tools.reads_results()) {
            return Err(CallError::TooLarge { size: json.len(), max: self.limits.result_bytes });
        }
        Ok((json, produced.effects))
    }

    async fn run_built_in(&self, call: &FunctionCall) -> Result<ToolSuccess, CallError> {
        // The list was stored with the turn; a redeploy since may have removed the tool.
        let entry = self.tools.registry.entry(&call.name).ok_or(CallError::Unregistered)?;
        // Use the schema of the current code, not the stored one: it is the one that the code supports.
        let schema = entry.schema().ok_or(CallError::Unregistered)?;
        let arguments = arguments::parse(&call.arguments, schema, self.limits.argument_bytes)?;
        let span = tool_span(call, None);
        let running = entry.tool.run(ToolInput { arguments: &arguments, facts: self.facts });
        let timer = pin!(self.timer.sleep(self.limits.timeout));
        let produced = match select(pin!(running.instrument(span.clone())), timer).await {
            Either::Left((produced, _)) => produced.map_err(CallError::from),
            Either::Right(_) => Err(CallError::TimedOut(self.limits.timeout)),
        };
        produced.inspect_err(|_| _ = span.record("otel.status_code", "ERROR"))
    }

    /// Runs a call of a remote tool. Its runner limits the time: a call that was sent can't be stopped, so dropping it
    /// would lose its result.
    async fn run_remote(
        &self,
        at: usize,
        tool: &RemoteTool,
        call: &FunctionCall,
    ) -> Result<ToolSuccess, CallError> {
        let arguments = remote_arguments(tool, call, self.limits)?;
        if let Some(max) = self.tools.exceeded(self.calls, at, tool) {
            return Err(CallError::LimitReached(max));
        }
        let span = tool_span(call, Some(tool));
        let running = self.remote.run(ValidRemoteCall { at, tool, arguments });
        let produced = running.instrument(span.clone()).await;
        Ok(produced.inspect_err(|_| _ = span.record("otel.status_code", "ERROR"))?)
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.tools.definitions.iter().map(|tool| tool.name.as_str()).collect();
        names.join(", ")
    }
}

#[cfg(test)]
mod tests;
