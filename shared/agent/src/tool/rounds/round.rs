//! A tool round, and its items for a replay.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::{AssistantMessage, ModelCallInfo, ToolCallRecord, outcome_text};
use crate::{
    model::{FunctionCall, HostedCall, Reasoning, ReplyItem, ToolOutput},
    text::{may_be_truncated, truncate},
};

/// Maximum size of a truncated value, in bytes.
const MAX_BRIEF_VALUE_BYTES: usize = 4 << 10;

/// A model that can read reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReasoningReader<'a> {
    /// The model.
    pub model: &'a str,
    /// The model's provider.
    pub provider: &'a str,
}

/// A reply that called tools, with the calls and their results.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Round {
    /// The reply apart from the calls.
    #[serde(skip_serializing_if = "AssistantMessage::is_empty")]
    pub message: AssistantMessage,
    /// The calls, in the model's order.
    pub calls: Vec<ToolCallRecord>,
    /// The mode of the request that carried the results. `None` if it was not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The model call that returned the reply. `None` if it was not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_call: Option<ModelCallInfo>,
}

impl Round {
    /// Returns the items of the reply for a replay. Only the model that wrote reasoning can read it, and providers
    /// reject a call without an output.
    #[must_use]
    pub fn reply_items(&self, reader: Option<ReasoningReader<'_>>) -> Vec<ReplyItem> {
        let AssistantMessage { text, reasoning, hosted, model, provider, text_file: _ } = &self.message;
        let readable = reader == Some(ReasoningReader { model, provider });
        let answered: Vec<_> = self.calls.iter().filter(|call| call.outcome.is_some()).collect();
        let mut items = Vec::new();
        for position in 0..=answered.len() {
            items.extend(interleave(reasoning, hosted, position).filter(|_| readable));
            if position == 0 && !text.trim().is_empty() {
                items.push(ReplyItem::Text(text.clone()));
            }
            items.extend(answered.get(position).map(|call| ReplyItem::Call(call.to_replay_call())));
        }
        items
    }

    /// Returns the outputs of its calls, in the model's order.
    #[must_use]
    pub fn outputs(&self) -> Vec<ToolOutput> {
        self.calls.iter().filter_map(ToolCallRecord::output).collect()
    }

    /// Truncates long values and drops reasoning and hosted calls.
    #[must_use]
    pub fn brief(&self) -> Self {
        let text = truncate(self.message.text.clone(), MAX_BRIEF_VALUE_BYTES);
        Self {
            message: AssistantMessage {
                text,
                text_file: self.message.text_file_address(),
                ..AssistantMessage::default()
            },
            calls: self.calls.iter().map(|call| call.brief(MAX_BRIEF_VALUE_BYTES)).collect(),
            mode: self.mode.clone(),
            model_call: self.model_call.clone(),
        }
    }

    /// True if one of its values is truncated.
    #[must_use]
    pub fn has_truncated_values(&self) -> bool {
        let values = self
            .calls
            .iter()
            .flat_map(|call| [Some(call.arguments.as_str()), call.outcome.as_ref().map(outcome_text)]);
        values.flatten().chain([self.message.text.as_str()]).any(may_be_truncated)
    }

    /// Returns its size in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        let calls: usize = self.calls.iter().map(ToolCallRecord::size).sum();
        let reasoning: usize = self.message.reasoning.iter().map(Reasoning::size).sum();
        let hosted: usize = self.message.hosted.iter().map(HostedCall::size).sum();
        self.message.text.len() + reasoning + hosted + calls
    }
}

/// Creates records of a reply's calls, each with an id that is unique within the turn. Some providers reuse ids from
/// reply to reply, and results that a client sends again must differ from the results of the next round.
pub fn record_calls(calls: Vec<FunctionCall>, before: &[Round], round: u32) -> Vec<ToolCallRecord> {
    let ids = before.iter().flat_map(|round| &round.calls).map(|call| call.call_id.clone());
    let mut taken: HashSet<String> = ids.collect();
    let records = calls.into_iter().enumerate().map(|(position, call)| {
        let mut call = ToolCallRecord::new(call);
        call.ensure_unique_id(&taken, position, round);
        taken.insert(call.call_id.clone());
        call
    });
    records.collect()
}

/// Returns the reasoning and the hosted calls that precede the call at this position, in order.
fn interleave<'a>(
    reasoning: &'a [Reasoning],
    hosted: &'a [HostedCall],
    position: usize,
) -> impl Iterator<Item = ReplyItem> + 'a {
    let after = move |thoughts: usize| {
        let here =
            move |call: &&HostedCall| call.calls_before == position && call.reasoning_before == thoughts;
        hosted.iter().filter(here).cloned().map(ReplyItem::Hosted)
    };
    let thoughts = reasoning.iter().enumerate().filter(move |(_, thought)| thought.calls_before == position);
    let first = reasoning.iter().take_while(|thought| thought.calls_before < position).count();
    let preceding = thoughts.flat_map(move |(at, thought)| {
        std::iter::once(ReplyItem::Reasoning(thought.clone())).chain(after(at + 1))
    });
    after(first).chain(preceding)
}
