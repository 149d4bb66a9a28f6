//! The function calls of a reply, each with a unique id.

use agent::model::{Error, FunctionCall};
use contracts::ContentHash;
use serde_json::{Value, json};

use crate::json::whole_characters;

/// The most calls of a reply.
pub(crate) const MAX_CALLS: usize = 128;

/// A function call as a provider sends it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReceivedCall {
    /// The call id that the output refers to. `None` if the provider sent none.
    pub call_id: Option<String>,
    /// The item's id.
    pub id: Option<String>,
    /// The function name. Empty if it is missing.
    pub name: String,
    /// The arguments as JSON text, as the model wrote it.
    pub arguments: String,
}

impl ReceivedCall {
    /// True if the call has neither an id nor a name nor arguments. A call that lacks only its name is answered.
    pub(crate) fn is_empty(&self) -> bool {
        self.call_id.is_none() && self.name.is_empty() && matches!(self.arguments.trim(), "" | "{}")
    }
}

/// The tool calls in the model's order.
#[derive(Debug)]
pub(crate) struct ToolCalls {
    pub(crate) calls: Vec<FunctionCall>,
    /// Set if an id was generated or a call was dropped, so that the provider can't match outputs with its calls.
    pub(crate) has_unmatched: bool,
}

impl ToolCalls {
    /// Collects the calls, each with a unique id. If the call id is missing or a duplicate, uses the item's id, or else
    /// generates one. Drops calls without id, name and arguments.
    pub(crate) fn collect<'a>(
        received: impl IntoIterator<Item = &'a ReceivedCall>,
        nonce: u64,
    ) -> Result<Self, Error> {
        let mut collected = Self { calls: Vec::new(), has_unmatched: false };
        for call in received {
            if collected.calls.len() == MAX_CALLS {
                return Err(Error::Malformed);
            }
            if call.is_empty() {
                collected.has_unmatched = true;
                continue;
            }
            let is_unique = |id: &&String| collected.calls.iter().all(|earlier| earlier.call_id != **id);
            let provided = call.call_id.as_ref().filter(is_unique);
            let item_id = call.id.as_ref().filter(is_unique);
            collected.has_unmatched |= provided.is_none();
            let generated = || generated_id(nonce, collected.calls.len());
            collected.calls.push(FunctionCall {
                call_id: provided.or(item_id).cloned().unwrap_or_else(generated),
                name: whole_characters(&call.name).into_owned(),
                arguments: whole_characters(&call.arguments).into_owned(),
            });
        }
        Ok(collected)
    }
}

/// Drops calls that came before, with the same id, name and arguments: a client would act twice.
pub(crate) fn drop_repeats<T>(items: &mut Vec<T>, call: impl Fn(&T) -> Option<&ReceivedCall>) {
    let mut at = 0;
    while let Some((earlier, rest)) = items.split_at_checked(at).filter(|(_, rest)| !rest.is_empty()) {
        let this = rest.first().and_then(&call);
        let is_repeat =
            this.is_some_and(|this| earlier.iter().filter_map(&call).any(|it| it.is_repeated_by(this)));
        if is_repeat {
            items.remove(at);
        } else {
            at += 1;
        }
    }
}

/// Adds a piece to the arguments of a call. An empty object before the arguments counts for nothing, and neither do whole
/// arguments that come again.
pub(crate) fn push_arguments(arguments: &mut String, piece: &str) {
    let (before, added) = (arguments.trim(), piece.trim());
    if before == "{}" && !added.is_empty() {
        arguments.clear();
    } else if before == added && before.starts_with('{') && before.ends_with('}') {
        return;
    }
    arguments.push_str(piece);
}

impl ReceivedCall {
    /// True if `later` is the same call, however its arguments are formatted, or its start without any.
    fn is_repeated_by(&self, later: &Self) -> bool {
        let parsed = |call: &Self| serde_json::from_str::<Value>(&call.arguments).ok();
        self.call_id.is_some()
            && self.call_id == later.call_id
            && self.name == later.name
            && (later.arguments.trim().is_empty()
                || self.arguments == later.arguments
                || parsed(self).is_some_and(|arguments| Some(arguments) == parsed(later)))
    }
}

/// Parses the arguments of a call, for a wire that requires an object.
pub(crate) fn input_object(call: &FunctionCall) -> Value {
    match serde_json::from_str(&call.arguments) {
        Ok(input @ Value::Object(_)) => input,
        _ if call.arguments.trim().is_empty() => json!({}),
        _ => json!({ "arguments": call.arguments }),
    }
}

/// Returns an id for a call: nine letters and digits, since Mistral's servers accept no others.
fn generated_id(nonce: u64, position: usize) -> String {
    let hash = ContentHash::hash_bytes(format!("{nonce}/{position}").as_bytes());
    hash.to_string().chars().take(9).collect()
}
