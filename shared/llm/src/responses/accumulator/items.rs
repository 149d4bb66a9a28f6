//! Extracts the text, calls and reasoning from the items of a response.

use std::collections::BTreeSet;

use agent::model::{Error, HostedCall, Reasoning, TextPart};

use super::citations::{self, Citation};
use crate::responses::item::Item;
use crate::tool_calls::ToolCalls;

/// Joins the texts and refusals with blank lines, and appends the citations.
pub(super) fn text(items: &[Item]) -> String {
    let messages = || {
        items.iter().filter_map(|item| match item {
            Item::Message(message) => Some(message),
            Item::FunctionCall(_) | Item::Reasoning(_) | Item::Hosted(_) | Item::Other => None,
        })
    };
    let texts = messages().flat_map(|message| &message.texts);
    let texts: Vec<&str> = texts.map(String::as_str).filter(|text| !text.is_empty()).collect();
    let citations: Vec<Citation> =
        messages().flat_map(|message| &message.annotations).filter_map(Citation::from_annotation).collect();
    citations::append(texts.join("\n\n"), &citations)
}

/// Returns the places of the messages' texts in the reply's text. None if that differs from them.
pub(super) fn text_parts(items: &[Item], text: &str) -> Vec<TextPart> {
    let (mut parts, mut calls_before, mut reasoning_before, mut end) = (Vec::new(), 0, 0, 0);
    for item in items {
        match item {
            Item::FunctionCall(call) => calls_before += usize::from(!call.is_empty()),
            Item::Reasoning(_) => reasoning_before += 1,
            Item::Message(message) => {
                let texts: Vec<&str> =
                    message.texts.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
                let (start, separator) = (end, if end == 0 { "" } else { "\n\n" });
                let written = format!("{separator}{}", texts.join("\n\n"));
                if texts.is_empty() {
                    continue;
                }
                if !text.get(start..).is_some_and(|rest| rest.starts_with(&written)) {
                    return Vec::new();
                }
                parts.push(TextPart { calls_before, reasoning_before, start, phase: message.phase });
                end += written.len();
            }
            Item::Hosted(_) | Item::Other => {}
        }
    }
    parts
}

/// Returns the size of the texts and calls, in bytes.
pub(super) fn size(items: &[Item]) -> usize {
    let sizes = items.iter().map(|item| match item {
        Item::Message(message) => message.texts.iter().map(String::len).sum(),
        Item::FunctionCall(call) => call.name.len().saturating_add(call.arguments.len()),
        Item::Reasoning(_) | Item::Hosted(_) | Item::Other => 0,
    });
    sizes.fold(0, usize::saturating_add)
}

/// Returns the ids of the calls.
pub(super) fn call_ids(items: &[Item]) -> BTreeSet<Option<String>> {
    let ids = items.iter().filter_map(|item| match item {
        Item::FunctionCall(call) => Some(call.call_id.clone()),
        Item::Message(_) | Item::Reasoning(_) | Item::Hosted(_) | Item::Other => None,
    });
    ids.collect()
}

/// Collects the calls, each with a unique id.
pub(super) fn calls(items: &[Item], nonce: u64) -> Result<ToolCalls, Error> {
    let received = items.iter().filter_map(|item| match item {
        Item::FunctionCall(call) => Some(call),
        Item::Message(_) | Item::Reasoning(_) | Item::Hosted(_) | Item::Other => None,
    });
    ToolCalls::collect(received, nonce)
}

/// Collects the reasoning that can be replayed, each with the number of calls before it.
pub(super) fn reasoning(items: &[Item]) -> Vec<Reasoning> {
    let mut calls_before = 0;
    let collected = items.iter().filter_map(|item| match item {
        Item::FunctionCall(call) => {
            calls_before += usize::from(!call.is_empty());
            None
        }
        Item::Reasoning(reasoning) => Some(Reasoning {
            calls_before,
            id: reasoning.id.clone(),
            summary: reasoning.summary.clone(),
            encrypted: reasoning.encrypted.clone(),
        }),
        Item::Message(_) | Item::Hosted(_) | Item::Other => None,
    });
    collected.collect()
}

/// Collects the calls of hosted tools, each with the number of calls and reasoning items before it.
pub(super) fn hosted(items: &[Item]) -> Vec<HostedCall> {
    let (mut calls_before, mut reasoning_before) = (0, 0);
    let collected = items.iter().filter_map(|item| match item {
        Item::FunctionCall(call) => {
            calls_before += usize::from(!call.is_empty());
            None
        }
        Item::Reasoning(_) => {
            reasoning_before += 1;
            None
        }
        Item::Hosted(item) => Some(HostedCall { calls_before, reasoning_before, item: item.clone() }),
        Item::Message(_) | Item::Other => None,
    });
    collected.collect()
}
