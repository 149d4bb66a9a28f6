//! The refusals of the API that its schema can't say.

use serde_json::{Map, Value};

use mock_model::{
    earlier_calls::{self, EarlierCall},
    refusal::Refusal,
};

/// The placeholder that Google publishes for a call without a signature.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Refuses what the API would refuse in a body that fits the schema.
pub(super) fn check(body: &Map<String, Value>) -> Result<(), Refusal> {
    let messages: &[Value] = body.get("messages").and_then(Value::as_array).map_or(&[], Vec::as_slice);
    if messages.is_empty() {
        return Err(invalid("messages", "Invalid 'messages': empty array."));
    }
    let has_tools = body.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty());
    for name in ["tool_choice", "parallel_tool_calls"] {
        if body.contains_key(name) && !has_tools {
            return Err(invalid(name, &format!("'{name}' is only allowed when 'tools' are specified.")));
        }
    }
    check_calls(messages)?;
    let earlier = messages.iter().flat_map(calls).map(|call| {
        let text = |pointer| call.pointer(pointer).and_then(Value::as_str);
        EarlierCall {
            id: text("/id").unwrap_or_default(),
            name: text("/function/name").unwrap_or_default(),
            arguments: Some(text("/function/arguments").unwrap_or_default()),
        }
    });
    if let Some(fault) = earlier_calls::fault(earlier) {
        return Err(invalid("messages", &fault));
    }
    match body.get("model").and_then(Value::as_str).unwrap_or_default() {
        model if model.contains("gemini") => check_signatures(messages),
        model if model.contains("mistral") => check_order(messages),
        _ => Ok(()),
    }
}

/// Refuses the options of a stream, as Mistral's API does.
pub(super) fn check_options(body: &Map<String, Value>) -> Result<(), Refusal> {
    let model = body.get("model").and_then(Value::as_str).unwrap_or_default();
    if !model.contains("mistral") || !body.contains_key("stream_options") {
        return Ok(());
    }
    let text = "extra_forbidden: body.stream_options.include_usage: Extra inputs are not permitted";
    Err(Refusal { status: 422, ..invalid("stream_options", text) })
}

/// Checks the order of messages and the form of ids, as Mistral's API does.
fn check_order(messages: &[Value]) -> Result<(), Refusal> {
    let role = |message: &Value| message.get("role").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut before = String::new();
    for message in messages {
        let role = role(message);
        if before == "tool" && role == "user" {
            return Err(invalid("messages", "Unexpected role 'user' after role 'tool'"));
        }
        let own = message.get("tool_call_id").and_then(Value::as_str);
        let ids = calls(message).filter_map(|call| call.get("id")?.as_str()).chain(own);
        for id in ids {
            if id.len() != 9 || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                let text = format!("Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9.");
                return Err(invalid("messages", &text));
            }
        }
        before = role;
    }
    Ok(())
}

/// Checks that the messages after a reply with calls answer each call, and no other.
fn check_calls(messages: &[Value]) -> Result<(), Refusal> {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        let id = message.get("tool_call_id").and_then(Value::as_str);
        match (message.get("role").and_then(Value::as_str), id) {
            (Some("tool"), Some(id)) => match open.iter().position(|call| *call == id) {
                Some(at) => drop(open.remove(at)),
                None => {
                    let text = "messages with role 'tool' must be a response to a preceding message with 'tool_calls'.";
                    return Err(invalid("messages", text));
                }
            },
            _ if !open.is_empty() => return Err(unanswered(&open)),
            _ => open.extend(calls(message).filter_map(|call| call.get("id")?.as_str())),
        }
    }
    if open.is_empty() { Ok(()) } else { Err(unanswered(&open)) }
}

/// Checks that the first call of each reply since the user's message has a signature, as Gemini 3 does.
fn check_signatures(messages: &[Value]) -> Result<(), Refusal> {
    let own = messages.iter().rposition(|message| message.get("role").is_some_and(|role| role == "user"));
    let since = own.and_then(|own| messages.get(own..)).unwrap_or(messages);
    for call in since.iter().filter_map(|message| calls(message).next()) {
        let signature = call.pointer("/extra_content/google/thought_signature").and_then(Value::as_str);
        let id = call.get("id").and_then(Value::as_str).unwrap_or_default();
        let is_signed = signature.is_some_and(|signature| {
            signature == NO_SIGNATURE || signature.starts_with("scripted_signature_")
        });
        if !is_signed {
            let text = format!("Function call {id} is missing a thought_signature in functionCall parts.");
            return Err(invalid("messages", &text));
        }
    }
    Ok(())
}

fn calls(message: &Value) -> impl Iterator<Item = &Value> {
    message.get("tool_calls").and_then(Value::as_array).into_iter().flatten()
}

fn unanswered(open: &[&str]) -> Refusal {
    let text = format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. \
         The following tool_call_ids did not have response messages: {}",
        open.join(", ")
    );
    invalid("messages", &text)
}

fn invalid(param: &str, message: &str) -> Refusal {
    Refusal { code: None, ..Refusal::invalid("", param, message) }
}
