//! Tool rounds: replies that call tools, with the results. Bounds their size for storage and replay.

use std::collections::HashSet;

use contracts::{FileAddress, Timestamp, Usage, read::RanBy, response::ToolOutcome};
use protocol::id::AttemptId;
use serde::{Deserialize, Serialize, de::IgnoredAny};

use crate::{
    model::{FunctionCall, HostedCall, Reasoning, ReplyItem, ToolOutput},
    text::{may_be_truncated, truncate},
};

/// A tool call and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ToolCallRecord {
    /// Id of the call, unique within its turn.
    pub call_id: String,
    /// The provider's id of the call, if another call of the turn has the same.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub provider_id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// The arguments as the model wrote them.
    pub arguments: String,
    /// The result; none while the client runs the call.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub outcome: Option<ToolOutcome>,
    /// The side that runs the call: the server or the client.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ran_by: Option<RanBy>,
    /// Duration of the call, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub execution_ms: Option<u64>,
    /// The files with the complete values if they are truncated here.
    #[serde(skip_serializing_if = "CallFiles::is_empty", default)]
    pub files: CallFiles,
}

/// The files with the complete values of a truncated call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CallFiles {
    /// The complete arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<FileAddress>,
    /// The complete result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<FileAddress>,
}

impl CallFiles {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Maximum size of a value that is stored only inline, in bytes. A longer one is also stored as a file of its turn if
/// [`ModelCallInfo::has_long_values`] is set.
pub const MAX_INLINE_VALUE_BYTES: usize = 16 << 10;

/// Returns the address of the file with a long value.
fn long_value_address(value: &str) -> Option<FileAddress> {
    (value.len() > MAX_INLINE_VALUE_BYTES).then(|| FileAddress::hash_bytes(value.as_bytes()))
}

impl ToolCallRecord {
    /// Returns the files with the call's long values.
    #[must_use]
    pub fn long_value_files(&self) -> CallFiles {
        let outcome = self.outcome.as_ref().and_then(|outcome| long_value_address(outcome_text(outcome)));
        CallFiles {
            arguments: self.files.arguments.or_else(|| long_value_address(&self.arguments)),
            outcome: self.files.outcome.or(outcome),
        }
    }

    /// Creates a record of a call without a result.
    #[must_use]
    pub fn new(call: FunctionCall) -> Self {
        Self {
            call_id: call.call_id,
            provider_id: None,
            name: call.name,
            arguments: call.arguments,
            outcome: None,
            ran_by: None,
            execution_ms: None,
            files: CallFiles::default(),
        }
    }

    /// Returns the call with its result; none while it has none.
    #[must_use]
    pub fn output(&self) -> Option<ToolOutput> {
        Some(ToolOutput { call: self.to_provider_call(), outcome: self.outcome.clone()? })
    }

    /// Replaces the call's id if it is one of `taken`, and keeps the provider's id beside it.
    fn ensure_unique_id(&mut self, taken: &HashSet<String>, position: usize, round: u32) {
        if taken.contains(&self.call_id) {
            let own = (0..=taken.len()).map(|more| format!("call_{round}_{position}_{more}"));
            let free = own.filter(|id| !taken.contains(id)).take(1);
            self.provider_id = free.map(|id| std::mem::replace(&mut self.call_id, id)).next();
        }
    }

    /// Returns the call with its unique id, as the turn and the client see it.
    #[must_use]
    pub fn to_call(&self) -> FunctionCall {
        let (call_id, name) = (self.call_id.clone(), self.name.clone());
        FunctionCall { call_id, name, arguments: self.arguments.clone() }
    }

    /// Returns the call with the provider's id.
    fn to_provider_call(&self) -> FunctionCall {
        let call_id = self.provider_id.as_ref().unwrap_or(&self.call_id).clone();
        FunctionCall { call_id, ..self.to_call() }
    }

    /// Returns the call for a replay. Some providers parse the arguments of earlier calls and reject invalid JSON.
    fn to_replay_call(&self) -> FunctionCall {
        let is_json = serde_json::from_str::<IgnoredAny>(&self.arguments).is_ok();
        let arguments = match self.arguments.trim() {
            _ if is_json => self.arguments.clone(),
            "" => "{}".to_owned(),
            malformed => serde_json::json!({ "malformed": malformed }).to_string(),
        };
        FunctionCall { arguments, ..self.to_provider_call() }
    }

    /// Truncates long values.
    fn brief(&self, max_bytes: usize) -> Self {
        Self {
            call_id: self.call_id.clone(),
            provider_id: self.provider_id.clone(),
            name: self.name.clone(),
            arguments: truncate_arguments(&self.arguments, max_bytes),
            outcome: self.outcome.clone().map(|outcome| match outcome {
                ToolOutcome::ResultJson(json) => ToolOutcome::ResultJson(truncate(json, max_bytes)),
                ToolOutcome::ErrorMessage(message) => ToolOutcome::ErrorMessage(truncate(message, max_bytes)),
            }),
            ran_by: self.ran_by,
            execution_ms: self.execution_ms,
            files: self.long_value_files(),
        }
    }

    fn size(&self) -> usize {
        let outcome = self.outcome.as_ref().map_or(0, |outcome| outcome_text(outcome).len());
        [self.call_id.len(), self.name.len(), self.arguments.len(), outcome].iter().sum()
    }
}

/// Creates records of a reply's calls, each with an id that is unique within the turn. Some providers reuse ids from
/// reply to reply, and results that a client sends again must differ from those of the next round.
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

/// Returns the text of a result, as it was written.
#[must_use]
pub fn outcome_text(outcome: &ToolOutcome) -> &str {
    match outcome {
        ToolOutcome::ResultJson(text) | ToolOutcome::ErrorMessage(text) => text,
    }
}

fn truncate_arguments(arguments: &str, max_bytes: usize) -> String {
    if arguments.len() <= max_bytes {
        return arguments.to_owned();
    }
    serde_json::json!({ "cut": truncate(arguments.to_owned(), max_bytes) }).to_string()
}

/// A reply that called tools, apart from the calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AssistantMessage {
    /// The model's text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The file with the complete text if it is truncated here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_file: Option<FileAddress>,
    /// The reasoning that led to the calls, if the provider returns it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasoning: Vec<Reasoning>,
    /// Calls of the provider's own tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosted: Vec<HostedCall>,
    /// The requested model.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The model's provider.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub provider: String,
}

impl AssistantMessage {
    /// Returns the address of the file with its text, if the text is long.
    #[must_use]
    pub fn text_file_address(&self) -> Option<FileAddress> {
        self.text_file.or_else(|| long_value_address(&self.text))
    }

    /// True if there is nothing to store.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
            && self.text_file.is_none()
            && self.reasoning.is_empty()
            && self.hosted.is_empty()
    }
}

/// A model call that returned a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ModelCallInfo {
    /// The attempt that made it. Its raw payloads and its recovery point are stored under this id.
    pub attempt_id: AttemptId,
    /// Number of the attempt within the turn, from 1.
    pub attempt_number: u32,
    /// Time of the request.
    pub requested_at: Timestamp,
    /// Duration in milliseconds, retries included.
    pub duration_ms: u64,
    /// Tokens used.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub usage: Option<Usage>,
    /// Number of the model call within the turn.
    pub number: u32,
    /// Set if its raw payloads are stored.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub has_raw_payloads: bool,
    /// Set if its long values are stored as files of the turn.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub has_long_values: bool,
    /// Number of the recovery point that has its tool calls; 0 if it has none.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub recovery_point: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

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
    /// The mode of the request that carried the results; none if it was not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The model call that returned the reply; none if it was not recorded.
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

/// Maximum size of a truncated value, in bytes.
const MAX_BRIEF_VALUE_BYTES: usize = 4 << 10;

/// Maximum size of the stored earlier rounds of a running turn, in bytes. No model reads more at once.
pub const MAX_RUNNING_BYTES: usize = 8 << 20;

/// Maximum size of the stored rounds of a completed turn, in bytes.
pub const MAX_COMPLETED_BYTES: usize = 1 << 20;

/// Returns the newest of these rounds that fit in `max_bytes`, oldest first. Rounds that don't fit are truncated. At
/// the first that doesn't fit even so, it and all older ones are dropped.
#[must_use]
pub fn within_bytes(rounds: Vec<Round>, max_bytes: usize) -> Vec<Round> {
    let mut left = max_bytes;
    let sized = rounds.into_iter().rev().map_while(|round| {
        let round = if round.size() <= left { round } else { round.brief() };
        left = left.checked_sub(round.size())?;
        Some(round)
    });
    let mut newest: Vec<Round> = sized.collect();
    newest.reverse();
    newest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(id: &str, result: &str) -> ToolCallRecord {
        ToolCallRecord {
            call_id: id.to_owned(),
            provider_id: None,
            name: "look".to_owned(),
            arguments: "{}".to_owned(),
            outcome: Some(ToolOutcome::ResultJson(result.to_owned())),
            ran_by: None,
            execution_ms: None,
            files: CallFiles::default(),
        }
    }

    fn round(calls: Vec<ToolCallRecord>) -> Round {
        Round { calls, ..Round::default() }
    }

    fn thought(calls_before: usize, id: &str) -> Reasoning {
        Reasoning { calls_before, id: id.to_owned(), summary: Vec::new(), encrypted: "gAAAA".to_owned() }
    }

    fn searched(calls_before: usize, reasoning_before: usize, id: &str) -> HostedCall {
        HostedCall { calls_before, reasoning_before, item: serde_json::json!({ "id": id }) }
    }

    #[test]
    fn duplicate_call_id_is_replaced() {
        let call = |id: &str| called(id, "").to_call();
        let before = [round(vec![called("a", ""), called("call_2_0_0", "")])];
        let records = record_calls(["a", "a", "b"].map(call).to_vec(), &before, 2);
        let ids = |of: fn(&ToolCallRecord) -> FunctionCall| records.iter().map(move |call| of(call).call_id);
        assert_eq!(ids(ToolCallRecord::to_call).collect::<Vec<_>>(), ["call_2_0_1", "call_2_1_0", "b"]);
        assert_eq!(
            ids(ToolCallRecord::to_provider_call).collect::<Vec<_>>(),
            ["a", "a", "b"],
            "the provider's"
        );
    }

    #[test]
    fn newest_rounds_are_complete_next_truncated_older_dropped() {
        let long = "x".repeat(6_000);
        let rounds: Vec<Round> = (0..4).map(|n| round(vec![called(&format!("c{n}"), &long)])).collect();
        assert_eq!(within_bytes(rounds.clone(), 1 << 20), rounds, "what fits stays as it is");
        let newest = within_bytes(rounds, 16_800);
        let lengths: Vec<usize> = newest.iter().map(Round::size).collect();
        assert_eq!(newest.last().unwrap().calls[0].call_id, "c3");
        assert!(matches!(lengths.as_slice(), [truncated, 6_008, 6_008] if *truncated < 4_200), "{lengths:?}");
    }

    #[test]
    fn truncated_value_names_file_with_complete_value() {
        let long = "x".repeat(MAX_INLINE_VALUE_BYTES + 1);
        let complete =
            round(vec![called("long", &long), called("short", &"y".repeat(MAX_INLINE_VALUE_BYTES))]);
        let brief = complete.brief().brief();
        assert!(brief.has_truncated_values());
        assert_eq!(brief.calls[0].long_value_files().outcome, Some(FileAddress::hash_bytes(long.as_bytes())));
        assert_eq!(brief.calls[0].long_value_files(), complete.calls[0].long_value_files());
        assert_eq!(brief.calls[1].long_value_files(), CallFiles::default());
    }

    #[test]
    fn truncated_arguments_are_valid_json() {
        let mut call = called("c", "1");
        call.arguments = format!("{{\"text\":\"{}\"}}", "ä".repeat(6_000));
        let brief = round(vec![call]).brief();
        let arguments: serde_json::Value = serde_json::from_str(&brief.calls[0].arguments).unwrap();
        assert!(arguments["cut"].as_str().unwrap().contains("[cut here:"));
    }

    #[test]
    fn reply_items_keep_order_and_reasoning_goes_to_its_author() {
        let message = AssistantMessage {
            text_file: None,
            text: "Let me look.".to_owned(),
            reasoning: vec![thought(0, "rs_1"), thought(1, "rs_2")],
            hosted: vec![
                searched(0, 0, "ws_0"),
                searched(0, 1, "ws_1"),
                searched(1, 1, "ws_2"),
                searched(2, 2, "ws_3"),
            ],
            model: "m".to_owned(),
            provider: "p".to_owned(),
        };
        let reply = Round { message, calls: vec![called("c1", "1"), called("c2", "2")], ..Round::default() };
        let reader = |provider| Some(ReasoningReader { model: "m", provider });
        let names = |items: Vec<ReplyItem>| -> Vec<String> {
            let name = |item| match item {
                ReplyItem::Text(text) => text,
                ReplyItem::Reasoning(reasoning) => reasoning.id,
                ReplyItem::Hosted(call) => call.item["id"].as_str().unwrap().to_owned(),
                ReplyItem::Call(call) => call.call_id,
            };
            items.into_iter().map(name).collect()
        };
        assert_eq!(
            names(reply.reply_items(reader("p"))),
            ["ws_0", "rs_1", "ws_1", "Let me look.", "c1", "ws_2", "rs_2", "c2", "ws_3"]
        );
        assert_eq!(names(reply.reply_items(reader("q"))), ["Let me look.", "c1", "c2"]);
        let open = Round { calls: vec![ToolCallRecord { outcome: None, ..called("c1", "") }], ..reply };
        assert_eq!(names(open.reply_items(None)), ["Let me look."], "nobody answered the call");
    }
}
