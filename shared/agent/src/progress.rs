//! How far a turn's work has come: everything the next model call needs, durable between calls.
//!
//! Stored after every tool round as a step under the attempt's own id, and within the outcome of a
//! suspension. Whoever goes on, after a crash or with the client's results, goes on from here: what was
//! executed is recorded and does not run again, and no recorded model call is paid for twice.

use std::time::Duration;

use contracts::{
    Fingerprint, Timestamp, Usage,
    read::{AgentSessionActiveFileRef, AgentSessionChunkRef},
    response::{FileRef, ToolResult},
};
use serde::{Deserialize, Serialize};

use crate::{
    call::{self, Beside, CallRecord, Made, Round},
    context::{Prices, Route, cost},
    model::FunctionCall,
    retrieval::{MOST_CHUNKS, NOT_ALL_LISTED, Sources},
    settings::Settings,
    tool::{Definition, MAX_MODE_CHANGES},
    window::{Summary, Window},
};
use protocol::{
    chain::{ChainPolicy, Keeper, Start},
    cost::Cost,
    detail::{FellBack, StagedMode, Trouble},
    session::SolutionContext,
    turn::Turn,
};

/// What a turn was set up with: fixed at its start, so that neither a redeploy nor a mode change alters
/// it midway (AGN-011 §4.4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Plan {
    /// The model's provider, by its name; none: the deployment's default.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub provider: Option<String>,
    /// The provider's model id.
    pub model: String,
    /// The base system prompt.
    pub system: String,
    /// What else the system message of an initial request says, in order.
    pub system_parts: Vec<String>,
    /// How the model is asked.
    #[serde(flatten)]
    pub settings: Settings,
    /// The merged tools: the client's, the mode's, `agent_change_mode` (AGN-011 §4.3).
    pub tools: Vec<Definition>,
    /// The files that came with the turn, and which of them go to the model.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub active_files: Vec<AgentSessionActiveFileRef>,
    /// What it searches; none where it is to be told nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sources: Option<Sources>,
    /// A tool that the first model call must call (AGN-003 §6.2).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool_choice: Option<String>,
    /// Whether tools are sent on chained requests too.
    pub tools_on_continuation: bool,
    /// Who remembers the conversation.
    #[serde(default)]
    pub chain: Keeper,
    /// Who is to, as the operator wants it.
    #[serde(default)]
    pub chain_policy: ChainPolicy,
    /// What the work begins with where that is not what the turn's head froze: its contexts were edited
    /// before a takeover.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub start: Option<Start>,
    /// How many tokens of earlier turns a request may tell.
    #[serde(default)]
    pub history_tokens: u32,
    /// The first place of the turn's line that knew nothing of a purged session which the line led into; 0 where all
    /// of it is there.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub cut_place: u64,
    /// Whether the model sums up those that are left out.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub history_summary: bool,
    /// The session's solution context as it stood at the start (AGN-034 §4.5).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub solution: Option<SolutionContext>,
    /// Whether what goes over the wire is kept.
    #[serde(default)]
    pub store_raw_payloads: bool,
    /// What tokens cost.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub prices: Option<Prices>,
    /// Who is asked, in this order, where the model has no answer.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub fallbacks: Vec<Route>,
    /// The most tool rounds.
    pub max_rounds: u32,
    /// How long the client has for its tools, in seconds.
    pub tool_deadline_seconds: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(place: &u64) -> bool {
    *place == 0
}

/// What came of the model calls so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Progress {
    /// Tool rounds so far.
    pub rounds: u32,
    /// The last reply, to chain from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// What the request that it answers went on from; none where that began a chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_response_id: Option<String>,
    /// The model that was asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// The model that wrote it, as it names itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The provider that gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Who was asked before the model that is asked now, and had no answer; oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fell_back: Vec<FellBack>,
    /// What the models that were asked before this one were paid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paid: Option<Paid>,
    /// A provider that turned out to keep no chains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keeps_no_chain: Option<String>,
    /// When the model last answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received: Option<Timestamp>,
    /// Model calls so far.
    pub model_calls: u32,
    /// Calls of earlier rounds as versions before this one kept them; nothing is added.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<CallRecord>,
    /// The earlier rounds, oldest first, for when they have to be told again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub past: Vec<Round>,
    /// What the last reply had beside its calls.
    #[serde(skip_serializing_if = "Beside::is_empty")]
    pub beside: Beside,
    /// How that reply was come by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made: Option<Made>,
    /// How the reply that ends the turn was come by, or that there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Made>,
    /// The last reply's calls in the model's order, with what came of each; without an outcome while the
    /// client runs it.
    pub calls: Vec<CallRecord>,
    /// Tokens used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// For the user, in the final response.
    pub warnings: Vec<String>,
    /// The last successful mode change of the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub staged_mode: Option<StagedMode>,
    /// The changes before it, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier_modes: Vec<StagedMode>,
    /// The mode whose instructions the chain was last told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told_mode: Option<String>,
    /// The solution context that the chain was last told, by its text's hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told_solution: Option<Fingerprint>,
    /// How the earlier turns were last told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Whether a model was asked to sum up those that are left out: a turn does so once.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub summed_up: bool,
    /// The `[CONTEXT]` block that its message has (AGN-002).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_block: Option<String>,
    /// The chunks that it was told, in the block or by a tool (DD-002B).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chunk_refs: Vec<AgentSessionChunkRef>,
    /// What server tools returned, for the final response (AGN-033 §5.3).
    pub tool_results: Vec<ToolResult>,
    /// Files that were published.
    pub files: Vec<FileRef>,
    /// How long models took together, and until the first of their text was there.
    #[serde(skip_serializing_if = "Spent::is_nothing")]
    pub model_time: Spent,
    /// How long the client's tools took together.
    pub client_tool_ms: u64,
    /// How long the server's tools took together.
    pub server_tool_ms: u64,
    /// The tool results that were accepted, by fingerprint, oldest first: to recognise them when they come
    /// again. As many as the turn was resumed, so no more than its rounds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<Fingerprint>,
}

/// How far an attempt got, as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Step {
    /// What the turn was set up with.
    pub plan: Plan,
    /// How far it has come.
    pub progress: Progress,
}

/// How long models took, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Spent {
    /// All calls together, retries included.
    pub ms: u64,
    /// Until the first text was there, of what models took alone; none where they wrote none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_text_ms: Option<u64>,
}

impl Spent {
    /// Whether no model was asked.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Milliseconds, as they are kept.
#[must_use]
pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// What the models that were asked before were paid, and what the one that is asked now used since.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Paid {
    /// What they cost; none without prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Tokens used since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage_since: Option<Usage>,
}

fn added(before: Option<Usage>, now: Option<Usage>) -> Option<Usage> {
    match (before, now) {
        (Some(before), Some(now)) => Some(before.plus(now)),
        (before, now) => before.or(now),
    }
}

impl Progress {
    /// The mode that the turn is in by now: a staged change shows at once (AGN-011 §5.3).
    #[must_use]
    pub fn mode<'a>(&'a self, turn: &'a Turn) -> &'a str {
        self.staged_mode.as_ref().map_or(&turn.mode, |staged| &staged.mode)
    }

    /// Changes the mode; false, and nothing changes, when the turn changed it as often as it may.
    pub fn stage(&mut self, change: StagedMode) -> bool {
        if self.mode_changes() >= MAX_MODE_CHANGES {
            return false;
        }
        self.earlier_modes.extend(self.staged_mode.replace(change));
        true
    }

    /// How often the turn changed the mode.
    #[must_use]
    pub fn mode_changes(&self) -> usize {
        self.earlier_modes.len() + usize::from(self.staged_mode.is_some())
    }

    /// The calls that the client has to run, in the model's order.
    pub fn pending(&self) -> impl Iterator<Item = &CallRecord> {
        self.calls.iter().filter(|call| call.outcome.is_none())
    }

    /// The last reply that called tools, and what came of its calls.
    #[must_use]
    pub fn last_round(&self) -> Option<Round> {
        (!self.calls.is_empty()).then(|| Round {
            beside: self.beside.clone(),
            calls: self.calls.clone(),
            mode: self.told_mode.clone(),
            made: self.made.clone(),
        })
    }

    /// Whether a reply that called tools began with this text.
    #[must_use]
    pub fn has_said(&self, text: &str) -> bool {
        let past = self.past.iter().map(|round| &round.beside);
        past.chain([&self.beside]).any(|beside| beside.text.starts_with(text))
    }

    /// Every round of the turn so far, oldest first: what a request tells that can't go on from the reply
    /// that called. The last one's results are brought in `mode`.
    #[must_use]
    pub fn rounds_in(&self, mode: &str) -> Vec<Round> {
        let last = self.last_round().map(|round| Round { mode: Some(mode.to_owned()), ..round });
        let before =
            (!self.earlier.is_empty()).then(|| Round { calls: self.earlier.clone(), ..Round::default() });
        before.into_iter().chain(self.past.iter().cloned()).chain(last).collect()
    }

    /// Goes on with the calls of another reply.
    pub fn begin_round(&mut self, calls: Vec<FunctionCall>, beside: Beside, made: Made) {
        let mut past = std::mem::take(&mut self.past);
        past.extend(self.last_round());
        self.calls = call::opened(calls, &past, self.rounds);
        self.past = call::kept(past, call::IN_TURN);
        self.beside = beside;
        self.made = Some(Made { step: self.steps(), ..made });
    }

    /// The turn's rounds, as its outcome keeps them.
    #[must_use]
    pub fn made_rounds(&self) -> Vec<Round> {
        let mode = self.told_mode.as_deref().unwrap_or_default();
        call::kept(self.rounds_in(mode), call::COMPLETED)
    }

    /// Whether a tool of the server's ran: each leaves a result.
    #[must_use]
    pub fn ran_server_tools(&self) -> bool {
        !self.tool_results.is_empty()
    }

    /// Adds what a model call used.
    pub fn spent(&mut self, usage: Option<Usage>) {
        self.usage = added(self.usage, usage);
        if let Some(paid) = &mut self.paid {
            paid.usage_since = added(paid.usage_since, usage);
        }
    }

    /// Adds the time of a model call, and the time until the first of its text.
    pub fn waited(&mut self, whole: Duration, first_text: Option<Duration>) {
        let spent = &mut self.model_time;
        if spent.first_text_ms.is_none() {
            spent.first_text_ms = first_text.map(|time| spent.ms.saturating_add(millis(time)));
        }
        spent.ms = spent.ms.saturating_add(millis(whole));
    }

    /// Whether the provider that answers turned out to keep no chains.
    #[must_use]
    pub fn is_unkept(&self) -> bool {
        self.keeps_no_chain.is_some() && self.keeps_no_chain == self.provider
    }

    /// A provider that keeps no chains, where that is of use to the session's next turn: it asks the first one again.
    #[must_use]
    pub fn lesson(&self) -> Option<&String> {
        let is_first =
            |keeper: &&String| self.fell_back.first().is_none_or(|first| first.provider == **keeper);
        self.keeps_no_chain.as_ref().filter(is_first)
    }

    /// What the turn cost so far, each model by its own prices.
    #[must_use]
    pub fn cost(&self, plan: &Plan) -> Option<Cost> {
        let of = |usage: Option<Usage>| usage.and_then(|usage| cost(plan.prices.as_ref(), &usage));
        match &self.paid {
            None => of(self.usage),
            Some(Paid { cost, usage_since }) => match (cost.clone(), of(*usage_since)) {
                (Some(before), Some(now)) => Some(Cost { amount: before.amount.plus(now.amount), ..before }),
                (before, now) => before.or(now),
            },
        }
    }

    /// Goes on with the plan's next model, since the one of this provider has no answer; none when there is none left.
    pub fn fall_back(&mut self, plan: &Plan, provider: String, why: Trouble) -> Option<Plan> {
        let mut fallbacks = plan.fallbacks.iter().cloned();
        let Route { provider: next, model, prices } = fallbacks.next()?;
        self.paid = Some(Paid { cost: self.cost(plan), usage_since: None });
        self.fell_back.push(FellBack { model: plan.model.clone(), provider, why });
        Some(Plan { provider: next, model, prices, fallbacks: fallbacks.collect(), ..plan.clone() })
    }

    /// Lists chunks that the turn was told, each once. There are bounds, which the user is told of.
    pub fn used(&mut self, chunks: Vec<AgentSessionChunkRef>) {
        for chunk in chunks {
            if self.chunk_refs.iter().any(|known| known.chunk_id == chunk.chunk_id) {
                continue;
            }
            if self.chunk_refs.len() >= MOST_CHUNKS as usize {
                return self.warn(NOT_ALL_LISTED);
            }
            self.chunk_refs.push(chunk);
        }
    }

    /// How many steps the work has taken that are worth recording: tool rounds, and a summary of earlier turns.
    #[must_use]
    pub fn steps(&self) -> u32 {
        self.rounds.saturating_add(u32::from(self.summed_up))
    }

    /// The turns before this one are summed up, or can't be: the next turns ask for no summary of them. Without a
    /// new one the summary before it stays.
    pub fn summed_up_until(&mut self, until: u64, made: Option<String>) {
        if let Some(window) = &mut self.window {
            let before = window.summary.take().map(|summary| summary.text);
            window.summary = Some(Summary { until, text: made.or(before).unwrap_or_default() });
        }
    }

    /// Warns the user, once.
    pub fn warn(&mut self, warning: &str) {
        if !self.warnings.iter().any(|known| known == warning) {
            self.warnings.push(warning.to_owned());
        }
    }

    /// Fills in the client's results, which match the pending calls one by one and have this fingerprint.
    #[must_use]
    pub fn answered(mut self, results: &[ToolResult], fingerprint: Fingerprint) -> Self {
        self.accepted.push(fingerprint);
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
    fn every_change_of_the_mode_is_kept_in_order_and_there_are_bounds() {
        let change = |number: usize| StagedMode {
            mode: format!("mode_{number}"),
            reason: "why".to_owned(),
            branch: false,
            at: Timestamp::from_millis(0),
        };
        let mut progress = Progress::default();
        assert!((0..MAX_MODE_CHANGES).all(|number| progress.stage(change(number))));
        assert!(!progress.stage(change(MAX_MODE_CHANGES)));
        let kept: Vec<StagedMode> =
            progress.earlier_modes.iter().chain(&progress.staged_mode).cloned().collect();
        assert_eq!(kept, (0..MAX_MODE_CHANGES).map(change).collect::<Vec<_>>());
    }
}
