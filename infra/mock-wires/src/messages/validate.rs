//! The refusals of the API that its schema can't say.

use serde_json::{Map, Value};

use crate::thinking::sign;
use mock_model::{
    earlier_calls::{self, EarlierCall},
    refusal::{Layout, Refusal},
};

/// The most cache points of a request.
const MAX_CACHE_POINTS: usize = 4;

/// Refuses what the API would refuse in a body that fits the schema.
pub(super) fn check(body: &Map<String, Value>) -> Result<(), Refusal> {
    if body.get("max_tokens").and_then(Value::as_u64).is_none_or(|tokens| tokens == 0) {
        return invalid("max_tokens: must be greater than or equal to 1");
    }
    let points = [body.get("system"), body.get("messages"), body.get("tools")].into_iter().flatten();
    let points: usize = points.map(|part| part.to_string().matches("\"cache_control\":{").count()).sum();
    if points > MAX_CACHE_POINTS {
        return invalid(&format!(
            "A maximum of 4 blocks with cache_control may be provided. Found {points}."
        ));
    }
    let messages: &[Value] = body.get("messages").and_then(Value::as_array).map_or(&[], Vec::as_slice);
    let role = |message: &Value| message.get("role").and_then(Value::as_str).unwrap_or_default().to_owned();
    if messages.first().is_none_or(|first| role(first) != "user") {
        return invalid("messages: first message must use the \"user\" role");
    }
    if messages.last().is_some_and(|last| role(last) == "assistant") {
        return invalid("This model does not support assistant message prefill.");
    }
    for (at, message) in messages.iter().enumerate() {
        check_message(at, message)?;
        check_results(at, message, at.checked_sub(1).and_then(|before| messages.get(before)))?;
    }
    let earlier = messages.iter().flat_map(blocks).filter(|block| is(block, "tool_use")).map(|block| {
        let text = |name| block.get(name).and_then(Value::as_str).unwrap_or_default();
        EarlierCall { id: text("id"), name: text("name"), arguments: None }
    });
    if let Some(fault) = earlier_calls::fault(earlier) {
        return invalid(&fault);
    }
    let has_calls = messages.iter().any(|message| ids(message, "tool_use", "id").next().is_some());
    if has_calls && !body.get("tools").is_some_and(Value::is_array) {
        return invalid("Requests which include `tool_use` or `tool_result` blocks must define tools");
    }
    Ok(())
}

fn check_message(at: usize, message: &Value) -> Result<(), Refusal> {
    let all: Vec<&Value> = blocks(message).collect();
    let is_thinking = |block: Option<&&Value>| {
        block.is_some_and(|block| is(block, "thinking") || is(block, "redacted_thinking"))
    };
    for (number, block) in all.iter().enumerate() {
        let before = number.checked_sub(1).and_then(|before| all.get(before));
        let separates = is_thinking(before) && is_thinking(all.get(number + 1));
        let member = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
        match member("type") {
            "text" if member("text").trim().is_empty() && !separates => {
                return invalid("messages: text content blocks must be non-empty");
            }
            "thinking" if member("signature") != sign(member("thinking")) => {
                return invalid(&format!(
                    "messages.{at}.content.{number}: Invalid `signature` in `thinking` block"
                ));
            }
            "tool_use" if !member("id").bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b)) => {
                return invalid(&format!(
                    "messages.{at}.content.{number}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Checks that a message answers each call of the message before it, first of all, and no other.
fn check_results(at: usize, message: &Value, before: Option<&Value>) -> Result<(), Refusal> {
    let open: Vec<&str> = before.into_iter().flat_map(|before| ids(before, "tool_use", "id")).collect();
    let answered: Vec<&str> = ids(message, "tool_result", "tool_use_id").collect();
    if let Some(id) = answered.iter().find(|id| !open.contains(id)) {
        return invalid(&format!(
            "messages.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}"
        ));
    }
    let leading = blocks(message).take_while(|block| is(block, "tool_result")).count();
    if leading < answered.len() || open.iter().any(|id| !answered.contains(id)) {
        return invalid(&format!(
            "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}",
            at.saturating_sub(1),
            open.join(", ")
        ));
    }
    Ok(())
}

fn blocks(message: &Value) -> impl Iterator<Item = &Value> {
    message.get("content").and_then(Value::as_array).into_iter().flatten()
}

fn ids<'a>(message: &'a Value, kind: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    blocks(message).filter(move |block| is(block, kind)).filter_map(move |block| block.get(name)?.as_str())
}

fn is(block: &Value, kind: &str) -> bool {
    block.get("type").and_then(Value::as_str) == Some(kind)
}

fn invalid(message: &str) -> Result<(), Refusal> {
    let refusal = Refusal::invalid("", "", message);
    Err(Refusal { code: None, param: None, layout: Some(Layout::Typed), ..refusal })
}
