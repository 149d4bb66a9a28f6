//! Compaction of a history: the request of the turn that summarizes it, and the object that it answers with.

use agent::text::estimate_tokens;
use serde_json::{Value, json};

use super::{Body, json_body};
use crate::error::ApiError;

/// The task of the turn.
const TASK: &str = "Summarize the conversation above for whoever continues it. Keep the user's requests, decisions, names, \
    numbers, file paths, open tasks and results of tools. Answer with the summary alone.";
/// The start of the message with the summary.
const TITLE: &str = "Summary of the conversation so far:";
/// The tokens of an image or a file, whatever its size.
const ATTACHMENT_TOKENS: u64 = 1_000;
/// The members of a request that go to the model.
const COUNTED: &[&str] = &["input", "instructions", "text", "tools"];

/// Returns the request of the turn that summarizes a history. It isn't stored.
///
/// # Errors
/// If the request isn't an object, or its input is neither a text nor an array.
pub fn request(mut body: Body) -> Result<Body, ApiError> {
    let Value::Object(members) = &mut body.value else {
        return Err(ApiError::value("", "must be an object"));
    };
    let mut input = match members.remove("input") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) => vec![json!({"role": "user", "content": text})],
        Some(Value::Array(items)) => items,
        Some(_) => return Err(ApiError::value("input", "must be a string or an array of items")),
    };
    input.push(json!({"role": "user", "content": TASK}));
    members.insert("input".to_owned(), Value::Array(input));
    members.insert("store".to_owned(), json!(false));
    Ok(body)
}

/// Returns the compaction from the response of its turn. `None` if that has no answer.
#[must_use]
pub fn object(response: &Value) -> Option<Value> {
    let output = response.get("output")?.as_array()?.iter();
    let parts = output.filter_map(|item| item.get("content")?.as_array()).flatten();
    let text: Vec<&str> = parts.filter_map(|part| part.get("text")?.as_str()).collect();
    let summary = format!("{TITLE}\n\n{}", text.join("\n\n"));
    (!text.is_empty()).then(|| {
        json!({
            "id": response.get("id"), "object": "response.compaction", "created_at": response.get("created_at"),
            "output": [{
                "type": "message", "role": "user", "status": "completed",
                "content": [{"type": "input_text", "text": summary}],
            }],
            "usage": response.get("usage"),
        })
    })
}

/// Estimates the input tokens of a request, without what the agent's contexts and the session add.
///
/// # Errors
/// If the body isn't JSON.
pub fn input_tokens(body: &[u8]) -> Result<u64, ApiError> {
    let value = json_body(body)?;
    Ok(COUNTED.iter().filter_map(|name| value.get(name)).map(tokens).sum())
}

fn tokens(value: &Value) -> u64 {
    match value {
        Value::String(text) if text.starts_with("data:") => ATTACHMENT_TOKENS,
        Value::String(text) => estimate_tokens(u64::try_from(text.len()).unwrap_or(u64::MAX)),
        Value::Array(items) => items.iter().map(tokens).sum(),
        Value::Object(members) => members.values().map(tokens).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_is_summarized_and_counted() {
        let body = json!({"model": "m", "input": "Hello there", "tools": [{"name": "look"}]}).to_string();
        assert_eq!(input_tokens(body.as_bytes()).unwrap(), tokens(&json!(["Hello there", "look"])));
        let request = request(Body::parse(body.as_bytes()).unwrap()).unwrap();
        assert_eq!(request.value()["input"][0]["content"], "Hello there");
        assert_eq!(
            (&request.value()["input"][1]["content"], &request.value()["store"]),
            (&json!(TASK), &json!(false))
        );
        let response =
            json!({"id": "resp_1", "output": [{"content": [{"type": "output_text", "text": "Short."}]}]});
        let compaction = object(&response).unwrap();
        assert_eq!(compaction["output"][0]["content"][0]["text"], format!("{TITLE}\n\nShort."));
        assert_eq!(object(&json!({"output": []})), None);
    }
}
