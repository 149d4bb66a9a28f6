//! A round as a provider accepts it again, whatever a model wrote: with valid names, objects as arguments, and call
//! ids that differ.

use std::collections::HashSet;

use contracts::ContentHash;
use protocol::id::{SessionKey, TurnKey};
use serde_json::{Map, Value};

use super::{AssistantMessage, Round, ToolCallRecord};
use crate::{
    members::{MAX_PROVIDER_NAME_CHARS, is_valid_name},
    model::{FunctionCall, ReplyItem, ToolOutput, Wire},
};

/// The length of our call ids. Mistral accepts only nine letters and digits.
const ID_LENGTH: usize = 9;

/// The most levels of arguments. The parsers of some providers end at 100, and a request adds levels of its own.
const MAX_LEVELS: usize = 64;

/// The characters of a hash that tell shortened names apart.
const NAME_HASH_CHARS: usize = 8;

/// The model that a conversation is replayed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayTarget<'a> {
    /// The model.
    pub model: &'a str,
    /// The model's provider.
    pub provider: &'a str,
    /// The provider's wire.
    pub wire: Wire,
    /// True if requests carry reasoning.
    pub includes_reasoning: bool,
}

impl ReplayTarget<'_> {
    /// True if the reply came from this provider, over this wire. Older replies don't name theirs.
    fn is_author(&self, reply: &AssistantMessage) -> bool {
        reply.provider == self.provider && reply.wire.is_none_or(|wire| wire == self.wire)
    }
}

/// The call ids of one request, which differ from each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallIds(HashSet<String>);

impl CallIds {
    /// Creates a set of the ids that are taken.
    pub(super) fn new(taken: impl Iterator<Item = String>) -> Self {
        Self(taken.collect())
    }

    /// Returns a new id: nine letters and digits, which every provider accepts. The same seeds give the same ids.
    pub(super) fn unique(&mut self, seed: &str) -> String {
        let mut id = hash(seed, ID_LENGTH);
        while !self.0.insert(id.clone()) {
            id = hash(&format!("{seed}/{id}"), ID_LENGTH);
        }
        id
    }

    /// Returns the reply and the outputs of a round for a request. Only the model that wrote reasoning can read it, and
    /// providers reject a call without an output.
    pub fn replay(&mut self, round: &Round, target: ReplayTarget<'_>) -> (Vec<ReplyItem>, Vec<ToolOutput>) {
        let is_author = target.is_author(&round.message);
        let is_readable = target.includes_reasoning && is_author && round.message.model == target.model;
        let answered = round.calls.iter().enumerate().filter_map(|(at, call)| {
            let outcome = call.outcome.clone()?;
            Some((at, ToolOutput { call: self.replay_call(call, is_author), outcome }))
        });
        let answered: Vec<(usize, ToolOutput)> = answered.collect();
        let calls = answered
            .iter()
            .map(|(at, output)| ((*at, usize::MAX, CALL), ReplyItem::Call(output.call.clone())));
        let mut items: Vec<(Position, ReplyItem)> =
            message_items(&round.message, is_readable).chain(calls).collect();
        items.sort_by_key(|(place, _)| *place);
        let items = items.into_iter().map(|(_, item)| item).collect();
        (without_stray_blanks(items), answered.into_iter().map(|(_, output)| output).collect())
    }

    /// Returns a call that a client brought for a request. Equal seeds give equal ids.
    pub(crate) fn foreign_call(&mut self, seed: &str, name: &str, arguments: &str) -> FunctionCall {
        let call_id = self.unique(seed);
        FunctionCall { call_id, name: replayed_name(name), arguments: replayed_arguments(arguments) }
    }

    /// Returns a call for a request. Its author gets its own id back, unless it gave that id to an earlier call too.
    fn replay_call(&mut self, call: &ToolCallRecord, is_author: bool) -> FunctionCall {
        let provider_id = Some(call.provider_id()).filter(|_| is_author);
        let own_id = Some(call.call_id.as_str()).filter(|id| is_own_id(id));
        let free = [provider_id, own_id].into_iter().flatten().find(|id| !self.0.contains(*id));
        let call_id = match free {
            Some(id) => {
                self.0.insert(id.to_owned());
                id.to_owned()
            }
            None => self.unique(&call.call_id),
        };
        FunctionCall {
            call_id,
            name: replayed_name(&call.name),
            arguments: replayed_arguments(&call.arguments),
        }
    }
}

/// Creates records of a reply's calls, each with our own id. Providers repeat their ids from reply to reply, and put
/// whole signatures into them.
pub fn record_calls(
    calls: Vec<FunctionCall>,
    before: &[Round],
    turn: &TurnKey,
    round: u32,
) -> Vec<ToolCallRecord> {
    let ids = before.iter().flat_map(|round| &round.calls).map(|call| call.call_id.clone());
    let mut ids = CallIds::new(ids);
    let SessionKey { org, session } = &turn.session;
    let records = calls.into_iter().enumerate().map(|(position, call)| {
        let seed = format!("{org}/{session}/{}/{round}/{position}", turn.turn);
        ToolCallRecord::new(ids.unique(&seed), call)
    });
    records.collect()
}

/// True for ids in our form. Every provider accepts them.
fn is_own_id(id: &str) -> bool {
    id.len() == ID_LENGTH && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn hash(text: &str, chars: usize) -> String {
    ContentHash::hash_bytes(text.as_bytes()).to_string().chars().take(chars).collect()
}

/// Returns the name of a call as every provider accepts it: 1 to 64 letters, digits, `_` and `-`. A model that invented
/// another name was told that there is no such tool. The name's hash keeps it apart from other names.
fn replayed_name(name: &str) -> String {
    if is_valid_name(name) {
        return name.to_owned();
    }
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || character == '-';
    let allowed = name.chars().map(|character| if is_allowed(character) { character } else { '_' });
    let start: String = allowed.take(MAX_PROVIDER_NAME_CHARS - NAME_HASH_CHARS - 1).collect();
    format!("{start}_{}", hash(name, NAME_HASH_CHARS))
}

/// Returns arguments as a JSON object, which every provider accepts. Others are the text of its only member.
fn replayed_arguments(arguments: &str) -> String {
    match serde_json::from_str::<Value>(arguments) {
        Ok(value @ Value::Object(_)) if levels(&value) <= MAX_LEVELS => arguments.to_owned(),
        _ if arguments.trim().is_empty() => Value::Object(Map::new()).to_string(),
        _ => serde_json::json!({ "malformed": arguments.trim() }).to_string(),
    }
}

/// Returns the levels of a value. The parser bounds them.
fn levels(value: &Value) -> usize {
    let deepest = match value {
        Value::Array(values) => values.iter().map(levels).max(),
        Value::Object(members) => members.values().map(levels).max(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return 0,
    };
    deepest.unwrap_or(0) + 1
}

/// The place of an item in its reply: the calls and the reasoning items before it, and its rank among items with the same.
type Position = (usize, usize, u8);

/// The ranks of items. A text or a hosted call after `n` reasoning items precedes the next one.
const HOSTED: u8 = 0;
const TEXT: u8 = 1;
const REASONING: u8 = 2;
const CALL: u8 = 3;

/// Returns the items of a reply besides its calls. Without `reasoning`, only its texts.
fn message_items(message: &AssistantMessage, reasoning: bool) -> impl Iterator<Item = (Position, ReplyItem)> {
    let texts =
        message.texts().into_iter().map(|((calls, reasoning), text)| ((calls, reasoning, TEXT), text));
    let thoughts =
        message.reasoning.iter().enumerate().map(|(at, thought)| {
            ((thought.calls_before, at, REASONING), ReplyItem::Reasoning(thought.clone()))
        });
    let hosted = message
        .hosted
        .iter()
        .map(|call| ((call.calls_before, call.reasoning_before, HOSTED), ReplyItem::Hosted(call.clone())));
    texts.chain(thoughts.chain(hosted).filter(move |_| reasoning))
}

/// Drops blank texts, except between two reasoning items: without it, their provider takes them for one that was changed.
fn without_stray_blanks(items: Vec<ReplyItem>) -> Vec<ReplyItem> {
    let is_reasoning = |item: Option<&ReplyItem>| matches!(item, Some(ReplyItem::Reasoning(_)));
    let is_stray = |at: usize, item: &ReplyItem| {
        let neighbors = [at.checked_sub(1).and_then(|before| items.get(before)), items.get(at + 1)];
        matches!(item, ReplyItem::Text { text, .. } if text.trim().is_empty())
            && !neighbors.into_iter().all(is_reasoning)
    };
    let kept = items.iter().enumerate().filter(|(at, item)| !is_stray(*at, item));
    kept.map(|(_, item)| item.clone()).collect()
}
