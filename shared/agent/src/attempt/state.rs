//! The results of an attempt so far.

use contracts::{Fingerprint, ToolContinuation, read::AgentSessionChunkRef};
use protocol::{
    detail::{FallbackAttempt, FallbackReason},
    id::TurnKey,
};
use serde::{Deserialize, Serialize};

use crate::{
    attempt::{
        ChainState, CostBeforeFallback, StagedEffects, ToolRounds, Totals, TurnSpec,
        history_window::{HistorySummary, HistoryWindow},
        prompt_state::PromptState,
    },
    model::FunctionCall,
    retrieval::{CHUNKS_UNLISTED, MAX_CHUNKS},
    tool::{
        deferred::MAX_FOUND_TOOLS,
        rounds::{AssistantMessage, ModelCallInfo, Round},
    },
};

/// The results of the model calls so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AttemptState {
    /// The provider chain.
    pub chain: ChainState,
    /// The mode and the solution context that are the latest in the chain.
    pub prompt: PromptState,
    /// The replayed history.
    pub history: HistoryState,
    /// The result of retrieval.
    pub retrieved: RetrievedContext,
    /// The tool rounds.
    pub rounds: ToolRounds,
    /// The names of deferred tools that the model has found, the newest last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub found_tools: Vec<String>,
    /// The effects that are staged until the turn completes.
    pub effects: StagedEffects,
    /// Usage, cost and time.
    pub totals: Totals,
}

/// The history that the turn's requests replay.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct HistoryState {
    /// The history window of the last request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<HistoryWindow>,
    /// True after the turn's only attempt at compaction.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub compaction_attempted: bool,
}

impl HistoryState {
    /// Returns the summary of turns before the window.
    #[must_use]
    pub fn summary(&self) -> Option<&HistorySummary> {
        self.window.as_ref().and_then(|window| window.summary.as_ref())
    }

    /// Records a compaction of the turns before `until`, so that the next turns don't repeat it. Without a new text
    /// the previous summary stays.
    pub fn record_compaction(&mut self, until: u64, text: Option<String>) {
        if let Some(window) = &mut self.window {
            let before = window.summary.take().map(|summary| summary.text);
            window.summary = Some(HistorySummary { until, text: text.or(before).unwrap_or_default() });
        }
    }
}

/// The chunks of indexed sources that the model got.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct RetrievedContext {
    /// The `[CONTEXT]` block of the user message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<String>,
    /// The chunks that the model got, in the block or from a tool.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chunk_refs: Vec<AgentSessionChunkRef>,
}

impl RetrievedContext {
    /// Adds a chunk once; false if it exceeds the limit.
    fn add(&mut self, chunk: AgentSessionChunkRef) -> bool {
        if self.chunk_refs.iter().any(|other| other.chunk_id == chunk.chunk_id) {
            return true;
        }
        let has_room = self.chunk_refs.len() < MAX_CHUNKS as usize;
        if has_room {
            self.chunk_refs.push(chunk);
        }
        has_room
    }
}

impl AttemptState {
    /// Starts a round with the calls of another reply.
    pub fn start_round(
        &mut self,
        turn: &TurnKey,
        calls: Vec<FunctionCall>,
        message: AssistantMessage,
        model_call: ModelCallInfo,
    ) {
        let recovery_point = self.recovery_points().saturating_add(1);
        let model_call = ModelCallInfo { recovery_point, ..model_call };
        self.rounds.start(turn, calls, message, model_call, self.prompt.mode.clone());
    }

    /// Offers deferred tools from the next request on. The newest stay.
    pub fn add_found_tools<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) {
        for name in names {
            self.found_tools.retain(|found| found != name);
            self.found_tools.push(name.to_owned());
        }
        let excess = self.found_tools.len().saturating_sub(MAX_FOUND_TOOLS);
        self.found_tools.drain(..excess);
    }

    /// Returns the turn's rounds for its outcome, bounded in size.
    #[must_use]
    pub fn rounds_for_outcome(&self) -> Vec<Round> {
        self.rounds.for_outcome(self.prompt.mode.as_deref().unwrap_or_default())
    }

    /// Switches to the next fallback model after the current provider failed, or `None` if no fallback is left.
    pub fn next_fallback(
        &mut self,
        spec: &TurnSpec,
        provider: String,
        reason: FallbackReason,
    ) -> Option<TurnSpec> {
        let mut fallbacks = spec.fallbacks.iter().cloned();
        let route = fallbacks.next()?;
        let prices = spec.route.prices.as_ref();
        let (cost, is_partial) = (self.totals.cost(prices), self.totals.cost_is_partial(prices));
        self.totals.cost_before_fallback = Some(CostBeforeFallback { cost, is_partial, usage_since: None });
        let model = spec.route.model.clone();
        self.chain.fallback_attempts.push(FallbackAttempt { model, provider, reason });
        Some(TurnSpec { route, fallbacks: fallbacks.collect(), ..spec.clone() })
    }

    /// Adds chunks that the model got, each once. Beyond the limit it warns the user instead.
    pub fn add_chunks(&mut self, chunks: Vec<AgentSessionChunkRef>) {
        let is_complete = chunks.into_iter().all(|chunk| self.retrieved.add(chunk));
        if !is_complete {
            self.effects.warn(CHUNKS_UNLISTED);
        }
    }

    /// Returns the number of recovery points so far: tool rounds, and a compaction.
    #[must_use]
    pub fn recovery_points(&self) -> u32 {
        self.rounds.count.saturating_add(u32::from(self.history.compaction_attempted))
    }

    /// Returns the number of recovery points whose calls of the service have results.
    #[must_use]
    pub fn finished_recovery_points(&self) -> u32 {
        let open = self.rounds.count.saturating_sub(self.rounds.finished());
        self.recovery_points().saturating_sub(open)
    }

    /// Continues after the approvals of the held calls were answered. The fingerprint identifies the resumption.
    #[must_use]
    pub fn with_answered_approvals(mut self, fingerprint: Fingerprint) -> Self {
        self.rounds.accepted_results.push(fingerprint);
        self
    }

    /// Adds the client's results, which match the pending calls one by one and have this fingerprint, with the user's text
    /// that came with them.
    #[must_use]
    pub fn with_tool_results(mut self, continuation: &ToolContinuation, fingerprint: Fingerprint) -> Self {
        self.rounds.accepted_results.push(fingerprint);
        if let Some(last) = &mut self.rounds.last {
            last.instruction.clone_from(&continuation.message);
        }
        let mut results = continuation.tool_results.iter();
        for call in
            self.rounds.calls_mut().iter_mut().filter(|call| call.outcome.is_none() && !call.is_held())
        {
            if let Some(result) = results.next() {
                call.outcome = Some(result.outcome.clone());
                call.execution_ms = Some(result.execution_ms);
                self.totals.client_tool_ms = self.totals.client_tool_ms.saturating_add(result.execution_ms);
            }
        }
        self
    }
}
