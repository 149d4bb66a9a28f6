//! Extracts the text, calls and reasoning from the items of a response.

use agent::model::{Error, FunctionCall, HostedCall, Reasoning};

use super::citations::{self, Citation};
use crate::wire::item::Item;

pub(super) const MAX_CALLS: usize = 128;

/// The tool calls in the model's order.
#[derive(Debug)]
pub(super) struct ToolCalls {
    pub(super) calls: Vec<FunctionCall>,
    /// Set if an id was generated or a call was dropped, so that the provider can't match outputs with its calls.
    pub(super) has_unmatched: bool,
}

/// Joins the texts and refusals with blank lines, and appends the citations.
pub(super) fn text(items: &[Item]) -> String {
    let messages = || {
        items.iter().filter_map(|item| match item {
            Item::Message(texts, annotations) => Some((texts, annotations)),
            Item::FunctionCall(_) | Item::Reasoning(_) | Item::Hosted(_) | Item::Other => None,
        })
    };
    let texts = messages().flat_map(|(texts, _)| texts);
    let texts: Vec<&str> = texts.map(String::as_str).filter(|text| !text.is_empty()).collect();
    let citations: Vec<Citation> =
        messages().flat_map(|(_, annotations)| annotations).filter_map(Citation::from_annotation).collect();
    citations::append(texts.join("\n\n"), &citations)
}

/// Collects the calls, each with a unique id. If the call id is missing or a duplicate, uses the item's id, or else
/// generates one. Drops calls without a function name.
pub(super) fn calls(items: &[Item], nonce: u64) -> Result<ToolCalls, Error> {
    let mut collected = ToolCalls { calls: Vec::new(), has_unmatched: false };
    for item in items {
        let Item::FunctionCall(call) = item else { continue };
        if collected.calls.len() == MAX_CALLS {
            return Err(Error::Malformed);
        }
        if call.name.is_empty() {
            collected.has_unmatched = true;
            continue;
        }
        let is_unique = |id: &&String| collected.calls.iter().all(|earlier| earlier.call_id != **id);
        let provided = call.call_id.as_ref().filter(is_unique);
        let item_id = call.id.as_ref().filter(is_unique);
        collected.has_unmatched |= provided.is_none();
        let generated = || format!("call_{nonce:016x}{:02x}", collected.calls.len());
        collected.calls.push(FunctionCall {
            call_id: provided.or(item_id).cloned().unwrap_or_else(generated),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        });
    }
    Ok(collected)
}

/// Collects the reasoning that can be replayed, each with the number of calls before it.
pub(super) fn reasoning(items: &[Item]) -> Vec<Reasoning> {
    let mut calls_before = 0;
    let collected = items.iter().filter_map(|item| match item {
        Item::FunctionCall(call) => {
            calls_before += usize::from(!call.name.is_empty());
            None
        }
        Item::Reasoning(reasoning) => Some(Reasoning {
            calls_before,
            id: reasoning.id.clone(),
            summary: reasoning.summary.clone(),
            encrypted: reasoning.encrypted.clone(),
        }),
        Item::Message(..) | Item::Hosted(_) | Item::Other => None,
    });
    collected.collect()
}

/// Collects the calls of hosted tools, each with the number of calls and reasoning items before it.
pub(super) fn hosted(items: &[Item]) -> Vec<HostedCall> {
    let (mut calls_before, mut reasoning_before) = (0, 0);
    let collected = items.iter().filter_map(|item| match item {
        Item::FunctionCall(call) => {
            calls_before += usize::from(!call.name.is_empty());
            None
        }
        Item::Reasoning(_) => {
            reasoning_before += 1;
            None
        }
        Item::Hosted(item) => Some(HostedCall { calls_before, reasoning_before, item: item.clone() }),
        Item::Message(..) | Item::Other => None,
    });
    collected.collect()
}
