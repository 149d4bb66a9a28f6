//! What a response's items come to: its text and its calls.

use agent::model::{Error, FunctionCall, HostedCall, Reasoning};

use super::citations::{self, Citation};
use crate::wire::item::Item;

pub(super) const MOST_CALLS: usize = 128;

/// The calls in the model's order.
#[derive(Debug)]
pub(super) struct Called {
    pub(super) calls: Vec<FunctionCall>,
    /// Whether an id was minted, or a call left out: then the provider can't match the outputs with its calls.
    pub(super) minted: bool,
}

/// The items' texts and refusals, joined by a blank line, and behind them what they cite.
pub(super) fn text(items: &[Item]) -> String {
    let messages = || {
        items.iter().filter_map(|item| match item {
            Item::Message(texts, annotations) => Some((texts, annotations)),
            Item::FunctionCall(_) | Item::Reasoning(_) | Item::Hosted(_) | Item::Other => None,
        })
    };
    let texts = messages().flat_map(|(texts, _)| texts);
    let texts: Vec<&str> = texts.map(String::as_str).filter(|text| !text.is_empty()).collect();
    let cited: Vec<Citation> =
        messages().flat_map(|(_, annotations)| annotations).filter_map(Citation::of).collect();
    citations::append(texts.join("\n\n"), &cited)
}

/// The calls, each with an id of its own: where that of the provider is missing or was used before, its item's id,
/// or else one that is minted here. A call that names no function can't be run, and is left out.
pub(super) fn calls(items: &[Item], nonce: u64) -> Result<Called, Error> {
    let mut called = Called { calls: Vec::new(), minted: false };
    for item in items {
        let Item::FunctionCall(call) = item else { continue };
        if called.calls.len() == MOST_CALLS {
            return Err(Error::Malformed);
        }
        if call.name.is_empty() {
            called.minted = true;
            continue;
        }
        let is_new = |id: &&String| called.calls.iter().all(|before| before.call_id != **id);
        let given = call.call_id.as_ref().filter(is_new);
        let own = call.id.as_ref().filter(is_new);
        called.minted |= given.is_none();
        let minted = || format!("call_{nonce:016x}{:02x}", called.calls.len());
        called.calls.push(FunctionCall {
            call_id: given.or(own).cloned().unwrap_or_else(minted),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        });
    }
    Ok(called)
}

/// The reasoning that can be told again, each with how many of the calls stand before it.
pub(super) fn reasoning(items: &[Item]) -> Vec<Reasoning> {
    let mut calls_before = 0;
    let told = items.iter().filter_map(|item| match item {
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
    told.collect()
}

/// What the provider's own tools did, each with how many of the calls and of the reasoning stand before it.
pub(super) fn hosted(items: &[Item]) -> Vec<HostedCall> {
    let (mut calls_before, mut reasoning_before) = (0, 0);
    let told = items.iter().filter_map(|item| match item {
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
    told.collect()
}
