//! The durable state of a turn's work: everything that the next model call needs.
//!
//! It is stored after every tool round under the attempt's own id, and in the outcome of a suspension. After a crash,
//! or with the client's tool results, another attempt continues from there: executed tools don't run again, and no
//! recorded model call is paid for twice.

pub mod conversation;

use std::time::Duration;

use contracts::{
    Fingerprint, Timestamp, Usage,
    read::{AgentSessionActiveFileRef, AgentSessionChunkRef},
    response::{FileRef, ToolResult},
};
use serde::{Deserialize, Serialize};

use crate::{
    context::{Prices, Route, cost},
    history::{
        history_window::{HistorySummary, HistoryWindow},
        rounds::{self, AssistantMessage, ModelCallInfo, Round, ToolCallRecord},
    },
    model::{FunctionCall, model_settings::ModelSettings},
    retrieval::{CHUNKS_UNLISTED, MAX_CHUNKS, Sources},
    tool::{Definition, MAX_MODE_CHANGES},
};
use protocol::{
    chain::{ChainStart, ConversationStatePolicy, HistoryOwner},
    cost::Cost,
    detail::{FallbackAttempt, FallbackReason, StagedMode},
    session::SolutionContext,
    turn::Turn,
};

/// The resolved settings of a turn, fixed at its start. Neither a redeployment nor a mode change alters them midway.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct TurnSpec {
    /// The model provider's name; none for the deployment's default.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub provider: Option<String>,
    /// The provider's model id.
    pub model: String,
    /// The base system prompt.
    pub system_prompt: String,
    /// The other parts of an initial request's system message, in order.
    pub system_parts: Vec<String>,
    /// Sampling and output settings for the model.
    #[serde(flatten)]
    pub settings: ModelSettings,
    /// The merged tools of the client, the mode and the server, and `agent_change_mode`.
    pub tools: Vec<Definition>,
    /// The files that came with the turn, and which of them the model gets.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub active_files: Vec<AgentSessionActiveFileRef>,
    /// The collection and filters that the turn searches; none without retrieval.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sources: Option<Sources>,
    /// The tool that the first model call must call.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool_choice: Option<String>,
    /// True if requests that continue from a response include the tools too.
    pub tools_on_continuation: bool,
    /// The owner of the conversation history: the provider or this service.
    #[serde(default)]
    pub history_owner: HistoryOwner,
    /// The operator's policy for the owner of the history.
    #[serde(default)]
    pub conversation_state: ConversationStatePolicy,
    /// The start of the provider chain, if it differs from the one in the turn's head because contexts were edited
    /// before a takeover.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub start: Option<ChainStart>,
    /// Token budget for earlier turns in a request.
    #[serde(default)]
    pub history_tokens: u32,
    /// First depth of the turn's ancestry that is independent of a purged session; 0 if the ancestry is complete.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub cutoff_depth: u64,
    /// Set if the model summarizes the turns that exceed the budget.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub history_summary: bool,
    /// The session's solution context at the start.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub solution: Option<SolutionContext>,
    /// Set if raw request and response payloads are stored.
    #[serde(default)]
    pub store_raw_payloads: bool,
    /// Token prices.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub prices: Option<Prices>,
    /// The models to fall back to if the model can't answer, in order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub fallbacks: Vec<Route>,
    /// Maximum number of tool rounds.
    pub max_rounds: u32,
    /// Time limit for the client's tools, in seconds.
    pub tool_deadline_seconds: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(depth: &u64) -> bool {
    *depth == 0
}

/// The results of the model calls so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AttemptState {
    /// Number of tool rounds so far.
    pub rounds: u32,
    /// Response id of the last reply, for the next request to continue from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// The response that the last reply's request continued from; none if it started a chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_response_id: Option<String>,
    /// The requested model of the last reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_model: Option<String>,
    /// The model that wrote the last reply, as the provider reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_model: Option<String>,
    /// The provider of the last reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The models that failed before the current one, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallback_attempts: Vec<FallbackAttempt>,
    /// The cost of the models before the current one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_before_fallback: Option<CostBeforeFallback>,
    /// A provider that doesn't store responses to continue from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stateless_provider: Option<String>,
    /// Time of the model's last response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_response_at: Option<Timestamp>,
    /// Number of model calls so far.
    pub model_calls: u32,
    /// Tool calls in the format of earlier versions, without rounds. Nothing is added here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub legacy_calls: Vec<ToolCallRecord>,
    /// The rounds before the last one, oldest first, for requests that replay them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier_rounds: Vec<Round>,
    /// The last reply, apart from its calls.
    #[serde(skip_serializing_if = "AssistantMessage::is_empty")]
    pub message: AssistantMessage,
    /// The model call that returned the last reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_call: Option<ModelCallInfo>,
    /// The last model call of the turn, successful or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_model_call: Option<ModelCallInfo>,
    /// The last reply's tool calls with their results, in the model's order. Calls that the client still has to run
    /// have no result.
    pub calls: Vec<ToolCallRecord>,
    /// Tokens used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Warnings for the user, for the final response.
    pub warnings: Vec<String>,
    /// The last successful mode change of the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub staged_mode: Option<StagedMode>,
    /// The mode changes before the last one, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier_modes: Vec<StagedMode>,
    /// The mode whose instructions are the latest in the chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain_mode: Option<String>,
    /// Text hash of the latest solution context in the chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain_solution: Option<Fingerprint>,
    /// The history window of the last request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history_window: Option<HistoryWindow>,
    /// True after the turn's only attempt at compaction.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub compaction_attempted: bool,
    /// The `[CONTEXT]` block of the user message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_block: Option<String>,
    /// The chunks that the model got, in the block or from a tool.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chunk_refs: Vec<AgentSessionChunkRef>,
    /// Results of server tools, for the final response.
    pub tool_results: Vec<ToolResult>,
    /// Published files.
    pub files: Vec<FileRef>,
    /// The models' response times.
    #[serde(skip_serializing_if = "ModelTime::is_zero")]
    pub model_time: ModelTime,
    /// Total duration of the client's tools, in milliseconds.
    pub client_tool_ms: u64,
    /// Total duration of the server's tools, in milliseconds.
    pub server_tool_ms: u64,
    /// Fingerprints of the accepted tool results, oldest first, to recognize a repeated submission. The turn resumes
    /// at most once per round, which bounds their number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepted_results: Vec<Fingerprint>,
}

/// A state of an attempt that another attempt can continue from, as stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct RecoveryPoint {
    /// The resolved settings of the turn.
    pub spec: TurnSpec,
    /// The results so far.
    pub state: AttemptState,
}

/// The models' response times, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ModelTime {
    /// Total of all calls, retries included.
    pub total_ms: u64,
    /// Model time until the first text; none if there was no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_text_ms: Option<u64>,
}

impl ModelTime {
    /// True before the first model call.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

/// Converts a duration to whole milliseconds, saturating.
#[must_use]
pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The cost of the models before the current one, and the current model's usage since.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CostBeforeFallback {
    /// Their cost; none without prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Tokens that the current model used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage_since: Option<Usage>,
}

fn sum_usage(before: Option<Usage>, now: Option<Usage>) -> Option<Usage> {
    match (before, now) {
        (Some(before), Some(now)) => Some(before.saturating_add(now)),
        (before, now) => before.or(now),
    }
}

impl AttemptState {
    /// Returns the turn's current mode. A staged change applies at once.
    #[must_use]
    pub fn mode<'a>(&'a self, turn: &'a Turn) -> &'a str {
        self.staged_mode.as_ref().map_or(&turn.mode, |staged| &staged.mode)
    }

    /// Changes the mode. Returns false and changes nothing if the turn has used up its mode changes.
    pub fn stage_mode(&mut self, change: StagedMode) -> bool {
        if self.mode_changes() >= MAX_MODE_CHANGES {
            return false;
        }
        self.earlier_modes.extend(self.staged_mode.replace(change));
        true
    }

    /// Returns the number of mode changes in the turn.
    #[must_use]
    pub fn mode_changes(&self) -> usize {
        self.earlier_modes.len() + usize::from(self.staged_mode.is_some())
    }

    /// Returns the calls that the client has to run, in the model's order.
    pub fn pending_calls(&self) -> impl Iterator<Item = &ToolCallRecord> {
        self.calls.iter().filter(|call| call.outcome.is_none())
    }

    /// Returns the last reply that called tools, with its calls and results.
    #[must_use]
    pub fn last_round(&self) -> Option<Round> {
        (!self.calls.is_empty()).then(|| Round {
            message: self.message.clone(),
            calls: self.calls.clone(),
            mode: self.chain_mode.clone(),
            model_call: self.model_call.clone(),
        })
    }

    /// True if a reply that called tools starts with this text.
    #[must_use]
    pub fn has_reply_starting_with(&self, text: &str) -> bool {
        let earlier_rounds = self.earlier_rounds.iter().map(|round| &round.message);
        earlier_rounds.chain([&self.message]).any(|message| message.text.starts_with(text))
    }

    /// Returns every round of the turn, oldest first, for a request that can't continue from the last response. The
    /// last round's results arrive in `mode`.
    #[must_use]
    pub fn rounds_for_replay(&self, mode: &str) -> Vec<Round> {
        let last = self.last_round().map(|round| Round { mode: Some(mode.to_owned()), ..round });
        let before = (!self.legacy_calls.is_empty())
            .then(|| Round { calls: self.legacy_calls.clone(), ..Round::default() });
        before.into_iter().chain(self.earlier_rounds.iter().cloned()).chain(last).collect()
    }

    /// Starts a round with the calls of another reply.
    pub fn start_round(
        &mut self,
        calls: Vec<FunctionCall>,
        message: AssistantMessage,
        model_call: ModelCallInfo,
    ) {
        let mut earlier_rounds = std::mem::take(&mut self.earlier_rounds);
        earlier_rounds.extend(self.last_round());
        self.calls = rounds::record_calls(calls, &earlier_rounds, self.rounds);
        self.earlier_rounds = rounds::within_bytes(earlier_rounds, rounds::MAX_RUNNING_BYTES);
        self.message = message;
        self.model_call = Some(ModelCallInfo { recovery_point: self.recovery_points(), ..model_call });
    }

    /// Returns the turn's rounds for its outcome, bounded in size.
    #[must_use]
    pub fn rounds_for_outcome(&self) -> Vec<Round> {
        let mode = self.chain_mode.as_deref().unwrap_or_default();
        rounds::within_bytes(self.rounds_for_replay(mode), rounds::MAX_COMPLETED_BYTES)
    }

    /// True if a server tool ran. Each of them leaves a result.
    #[must_use]
    pub fn ran_server_tools(&self) -> bool {
        !self.tool_results.is_empty()
    }

    /// Adds the usage of a model call.
    pub fn add_usage(&mut self, usage: Option<Usage>) {
        self.usage = sum_usage(self.usage, usage);
        if let Some(cost_before_fallback) = &mut self.cost_before_fallback {
            cost_before_fallback.usage_since = sum_usage(cost_before_fallback.usage_since, usage);
        }
    }

    /// Adds the duration of a model call, and its time to the first text.
    pub fn add_model_time(&mut self, duration: Duration, first_text: Option<Duration>) {
        let spent = &mut self.model_time;
        if spent.first_text_ms.is_none() {
            spent.first_text_ms = first_text.map(|time| spent.total_ms.saturating_add(millis(time)));
        }
        spent.total_ms = spent.total_ms.saturating_add(millis(duration));
    }

    /// True if the current provider doesn't store responses.
    #[must_use]
    pub fn is_stateless(&self) -> bool {
        self.stateless_provider.is_some() && self.stateless_provider == self.provider
    }

    /// Returns the stateless provider if it is the turn's first one. The session's next turn starts with that one
    /// again.
    #[must_use]
    pub fn stateless_first_provider(&self) -> Option<&String> {
        let is_first = |provider: &&String| {
            self.fallback_attempts.first().is_none_or(|first| first.provider == **provider)
        };
        self.stateless_provider.as_ref().filter(is_first)
    }

    /// Returns the turn's cost so far, each model at its own prices.
    #[must_use]
    pub fn cost(&self, spec: &TurnSpec) -> Option<Cost> {
        let of = |usage: Option<Usage>| usage.and_then(|usage| cost(spec.prices.as_ref(), &usage));
        match &self.cost_before_fallback {
            None => of(self.usage),
            Some(CostBeforeFallback { cost, usage_since }) => match (cost.clone(), of(*usage_since)) {
                (Some(before), Some(now)) => Some(Cost { amount: before.amount.plus(now.amount), ..before }),
                (before, now) => before.or(now),
            },
        }
    }

    /// Switches to the next fallback model after the current provider failed; none if there is none left.
    pub fn next_fallback(
        &mut self,
        spec: &TurnSpec,
        provider: String,
        reason: FallbackReason,
    ) -> Option<TurnSpec> {
        let mut fallbacks = spec.fallbacks.iter().cloned();
        let Route { provider: next, model, prices } = fallbacks.next()?;
        self.cost_before_fallback = Some(CostBeforeFallback { cost: self.cost(spec), usage_since: None });
        self.fallback_attempts.push(FallbackAttempt { model: spec.model.clone(), provider, reason });
        Some(TurnSpec { provider: next, model, prices, fallbacks: fallbacks.collect(), ..spec.clone() })
    }

    /// Adds chunks that the model got, each once. Beyond the limit it warns the user instead.
    pub fn add_chunks(&mut self, chunks: Vec<AgentSessionChunkRef>) {
        for chunk in chunks {
            if self.chunk_refs.iter().any(|other| other.chunk_id == chunk.chunk_id) {
                continue;
            }
            if self.chunk_refs.len() >= MAX_CHUNKS as usize {
                return self.warn(CHUNKS_UNLISTED);
            }
            self.chunk_refs.push(chunk);
        }
    }

    /// Returns the number of recovery points so far: tool rounds, and a compaction.
    #[must_use]
    pub fn recovery_points(&self) -> u32 {
        self.rounds.saturating_add(u32::from(self.compaction_attempted))
    }

    /// Records a compaction of the turns before `until`, so that the next turns don't repeat it. Without a new text
    /// the previous summary stays.
    pub fn record_compaction(&mut self, until: u64, text: Option<String>) {
        if let Some(history_window) = &mut self.history_window {
            let before = history_window.summary.take().map(|summary| summary.text);
            history_window.summary =
                Some(HistorySummary { until, text: text.or(before).unwrap_or_default() });
        }
    }

    /// Adds a warning for the user, once.
    pub fn warn(&mut self, warning: &str) {
        if !self.warnings.iter().any(|other| other == warning) {
            self.warnings.push(warning.to_owned());
        }
    }

    /// Adds the client's results, which match the pending calls one by one and have this fingerprint.
    #[must_use]
    pub fn with_tool_results(mut self, results: &[ToolResult], fingerprint: Fingerprint) -> Self {
        self.accepted_results.push(fingerprint);
        let mut results = results.iter();
        for call in self.calls.iter_mut().filter(|call| call.outcome.is_none()) {
            if let Some(result) = results.next() {
                call.outcome = Some(result.outcome.clone());
                call.execution_ms = Some(result.execution_ms);
                self.client_tool_ms = self.client_tool_ms.saturating_add(result.execution_ms);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mode_changes_are_recorded_in_order_and_bounded() {
        let change = |number: usize| StagedMode {
            mode: format!("mode_{number}"),
            reason: "why".to_owned(),
            branch: false,
            at: Timestamp::from_millis(0),
        };
        let mut state = AttemptState::default();
        assert!((0..MAX_MODE_CHANGES).all(|number| state.stage_mode(change(number))));
        assert!(!state.stage_mode(change(MAX_MODE_CHANGES)));
        let changes: Vec<StagedMode> =
            state.earlier_modes.iter().chain(&state.staged_mode).cloned().collect();
        assert_eq!(changes, (0..MAX_MODE_CHANGES).map(change).collect::<Vec<_>>());
    }
}
