//! The refusals of the API that its schema can't say.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::thinking::sign;
use mock_model::{
    earlier_calls::{self, EarlierCall},
    refusal::{Layout, Refusal},
};

/// The most cache points of a request.
const MAX_CACHE_POINTS: usize = 4;

/// The most documents of a request.
const MAX_DOCUMENTS: usize = 5;

/// Refuses what the API would refuse in a body that fits the schema.
pub(super) fn check(model: &str, body: &Map<String, Value>) -> Result<(), Refusal> {
    let messages: &[Value] = body.get("messages").and_then(Value::as_array).map_or(&[], Vec::as_slice);
    check_roles(messages)?;
    let points = ["system", "messages", "toolConfig"].into_iter().filter_map(|part| body.get(part));
    let points: usize = points.map(|part| part.to_string().matches("{\"cachePoint\":{").count()).sum();
    let has_cache = ["anthropic.", "amazon.nova"].iter().any(|name| model.contains(name));
    if points > 0 && !has_cache {
        let message = "You invoked an unsupported model or your request did not allow prompt caching.";
        return Err(Refusal { status: 403, ..refusal(message) });
    }
    if points > MAX_CACHE_POINTS {
        return invalid("You can't include more than 4 cache points in a request.");
    }
    check_documents(messages)?;
    for (at, message) in messages.iter().enumerate() {
        check_blocks(at, message)?;
        check_results(at, message, at.checked_sub(1).and_then(|before| messages.get(before)))?;
    }
    let earlier = messages.iter().flat_map(|message| members(message, "toolUse")).map(|call| {
        let text = |name| call.get(name).and_then(Value::as_str).unwrap_or_default();
        EarlierCall { id: text("toolUseId"), name: text("name"), arguments: None }
    });
    if let Some(fault) = earlier_calls::fault(earlier) {
        return invalid(&fault);
    }
    let has_calls = messages.iter().any(|message| members(message, "toolUse").next().is_some());
    if has_calls && !body.contains_key("toolConfig") {
        return invalid(
            "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        );
    }
    Ok(())
}

/// Checks that the roles alternate, from the user to the user.
fn check_roles(messages: &[Value]) -> Result<(), Refusal> {
    let role = |message: &Value| message.get("role").and_then(Value::as_str).unwrap_or_default().to_owned();
    if messages.first().is_none_or(|first| role(first) != "user") {
        return invalid(
            "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
        );
    }
    if messages.last().is_some_and(|last| role(last) != "user") {
        return invalid("This model does not support assistant message prefill.");
    }
    let repeats = messages.windows(2).any(|pair| matches!(pair, [one, next] if role(one) == role(next)));
    if repeats {
        return invalid("A conversation must alternate between user and assistant roles.");
    }
    Ok(())
}

fn check_documents(messages: &[Value]) -> Result<(), Refusal> {
    let mut names = HashSet::new();
    let documents = messages.iter().flat_map(|message| members(message, "document"));
    let named: Vec<&str> = documents.filter_map(|document| document.get("name")?.as_str()).collect();
    if named.len() > MAX_DOCUMENTS {
        return invalid("You can't include more than 5 documents in a request.");
    }
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || " -()[]".contains(character);
    for name in named {
        if !name.chars().all(is_allowed) || name.contains("  ") {
            return invalid(
                "The document file name can only contain alphanumeric characters, whitespace characters, hyphens, \
                 parentheses, and square brackets. The name can't contain more than one consecutive whitespace character.",
            );
        }
        if !names.insert(name.to_ascii_lowercase()) {
            return invalid(
                "Messages can't contain duplicate document names. Rename the document and retry your request.",
            );
        }
    }
    Ok(())
}

fn check_blocks(at: usize, message: &Value) -> Result<(), Refusal> {
    if blocks(message).next().is_none() {
        return invalid(&format!("The content field in the Message object at messages.{at} is empty."));
    }
    let all: Vec<&Value> = blocks(message).collect();
    let is_thinking =
        |block: Option<&&Value>| block.is_some_and(|block| block.get("reasoningContent").is_some());
    for (number, block) in all.iter().enumerate() {
        let before = number.checked_sub(1).and_then(|before| all.get(before));
        let separates = is_thinking(before) && is_thinking(all.get(number + 1));
        if !separates && block.get("text").and_then(Value::as_str).is_some_and(|text| text.trim().is_empty())
        {
            return invalid(&format!(
                "The text field in the ContentBlock object at messages.{at}.content.{number} is blank."
            ));
        }
        let thought = block.pointer("/reasoningContent/reasoningText");
        let member = |name: &str| thought.and_then(|thought| thought.get(name)?.as_str()).unwrap_or_default();
        if thought.is_some() && member("signature") != sign(member("text")) {
            return invalid(&format!(
                "messages.{at}.content.{number}: Invalid `signature` in `thinking` block"
            ));
        }
    }
    Ok(())
}

/// Checks that a message answers each call of the message before it, and no other.
fn check_results(at: usize, message: &Value, before: Option<&Value>) -> Result<(), Refusal> {
    let id = |block: &Value| block.get("toolUseId").and_then(Value::as_str).map(str::to_owned);
    let open: Vec<String> =
        before.into_iter().flat_map(|before| members(before, "toolUse")).filter_map(id).collect();
    let answered: Vec<String> = members(message, "toolResult").filter_map(id).collect();
    if answered.iter().any(|id| !open.contains(id)) {
        return invalid(&format!(
            "The number of toolResult blocks at messages.{at}.content exceeds the number of toolUse blocks of previous turn."
        ));
    }
    if open.iter().any(|id| !answered.contains(id)) {
        return invalid(&format!(
            "Expected toolResult blocks at messages.{at}.content for the following Ids: {}",
            open.join(", ")
        ));
    }
    Ok(())
}

fn blocks(message: &Value) -> impl Iterator<Item = &Value> {
    message.get("content").and_then(Value::as_array).into_iter().flatten()
}

fn members<'a>(message: &'a Value, name: &'a str) -> impl Iterator<Item = &'a Value> {
    blocks(message).filter_map(move |block| block.get(name))
}

fn invalid(message: &str) -> Result<(), Refusal> {
    Err(refusal(message))
}

fn refusal(message: &str) -> Refusal {
    Refusal { code: None, param: None, layout: Some(Layout::Aws), ..Refusal::invalid("", "", message) }
}
