//! The tool rounds of an attempt.

use contracts::Fingerprint;
use protocol::id::TurnKey;
use serde::{Deserialize, Serialize};

use crate::{
    model::FunctionCall,
    tool::rounds::{self, AssistantMessage, ModelCallInfo, Round, ToolCallRecord},
};

/// The turn's tool rounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ToolRounds {
    /// Number of tool rounds so far.
    pub count: u32,
    /// The rounds before the last one, oldest first, for requests that replay them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Round>,
    /// The last round. `None` before the first. Calls that the client still has to run have no result. The round has
    /// no mode until a request carries its results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<Round>,
    /// Fingerprints of the accepted tool results, oldest first, to recognize a repeated submission. The turn resumes
    /// at most once per round, which bounds their number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepted_results: Vec<Fingerprint>,
}

impl ToolRounds {
    /// Starts a round with the calls of another reply, whose request carried the last round's results in `mode`.
    pub fn start(
        &mut self,
        turn: &TurnKey,
        calls: Vec<FunctionCall>,
        message: AssistantMessage,
        model_call: ModelCallInfo,
        mode: Option<String>,
    ) {
        self.count = self.count.saturating_add(1);
        let mut earlier = std::mem::take(&mut self.earlier);
        earlier.extend(self.last.take().map(|last| Round { mode, ..last }));
        let calls = rounds::record_calls(calls, &earlier, turn, self.count);
        self.earlier = rounds::within_bytes(earlier, rounds::MAX_RUNNING_BYTES);
        self.last = Some(Round { message, calls, model_call: Some(model_call), ..Round::default() });
    }

    /// Returns the last round's calls with their results, in the model's order.
    #[must_use]
    pub fn calls(&self) -> &[ToolCallRecord] {
        self.last.as_ref().map_or(&[], |last| &last.calls)
    }

    /// Returns the last round's calls, to record their results.
    pub fn calls_mut(&mut self) -> &mut [ToolCallRecord] {
        self.last.as_mut().map_or(&mut [], |last| &mut last.calls)
    }

    /// Returns the calls that the client has to run, in the model's order.
    pub fn pending_calls(&self) -> impl Iterator<Item = &ToolCallRecord> {
        self.calls().iter().filter(|call| call.outcome.is_none() && !call.is_held())
    }

    /// Returns the calls of the service that a round holds back until its approvals are answered.
    pub fn held_calls(&self) -> impl Iterator<Item = &ToolCallRecord> {
        self.calls().iter().filter(|call| call.is_held())
    }

    /// Returns the number of rounds whose calls of the service have results.
    #[must_use]
    pub fn finished(&self) -> u32 {
        self.count.saturating_sub(u32::from(self.held_calls().next().is_some()))
    }

    /// True if a reply that called tools starts with this text.
    #[must_use]
    pub fn has_reply_starting_with(&self, text: &str) -> bool {
        self.earlier.iter().chain(&self.last).any(|round| round.message.text.starts_with(text))
    }

    /// Returns every round of the turn, oldest first, for a request that can't continue from the last response. The
    /// last round's results arrive in `mode`.
    #[must_use]
    pub fn for_replay(&self, mode: &str) -> Vec<Round> {
        let last = self.last.clone().map(|last| Round { mode: Some(mode.to_owned()), ..last });
        self.earlier.iter().cloned().chain(last).collect()
    }

    /// Returns the turn's rounds for its outcome, bounded in size.
    #[must_use]
    pub fn for_outcome(&self, mode: &str) -> Vec<Round> {
        rounds::within_bytes(self.for_replay(mode), rounds::MAX_COMPLETED_BYTES)
    }
}
