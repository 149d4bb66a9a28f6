//! The input items of a response.

use base64::{Engine, engine::general_purpose::STANDARD};
use contracts::{
    UserTurn,
    request::Contents,
    response::{ToolOutcome, ToolResult},
};
use serde_json::{Value, json};

use crate::id::ResponseId;

/// Returns the items of a turn's request, which is one message.
#[must_use]
pub fn of_request(id: &ResponseId, request: &UserTurn) -> Vec<Value> {
    let text = request.instruction.iter().map(|text| json!({"type": "input_text", "text": text}));
    let images = request.clipboard_images.iter().map(|image| {
        let url = format!("data:{};base64,{}", image.image_type.mime_type(), STANDARD.encode(&image.bytes));
        json!({"type": "input_image", "detail": "auto", "image_url": url, "file_id": null})
    });
    let files = request.input_artifacts.iter().map(|file| {
        let bytes = match &file.contents {
            Contents::Text(text) => text.as_bytes(),
            Contents::Binary(bytes) => bytes.as_slice(),
        };
        let mime_type = file.mime_type.as_deref().unwrap_or("application/octet-stream");
        let data = format!("data:{mime_type};base64,{}", STANDARD.encode(bytes));
        json!({"type": "input_file", "filename": file.file_name.as_str(), "file_data": data})
    });
    let content: Vec<Value> = text.chain(images).chain(files).collect();
    vec![json!({
        "id": id.input(0), "type": "message", "role": "user", "status": "completed", "content": content,
    })]
}

/// Returns the items of a response that continues with the results of calls.
#[must_use]
pub fn of_results(id: &ResponseId, results: &[ToolResult]) -> Vec<Value> {
    let item = |(n, result): (usize, &ToolResult)| {
        let output = match &result.outcome {
            // A text that isn't JSON was stored as a JSON string.
            ToolOutcome::ResultJson(json) => {
                serde_json::from_str::<String>(json).unwrap_or_else(|_| json.clone())
            }
            ToolOutcome::ErrorMessage(message) => message.clone(),
        };
        json!({
            "id": id.input(n), "type": "function_call_output", "status": "completed",
            "call_id": result.tool_call_id, "output": output,
        })
    };
    results.iter().enumerate().map(item).collect()
}

/// Returns a list of items: those after an id, in this order, at most `limit`.
///
/// None if no item has the id.
#[must_use]
pub fn page(mut items: Vec<Value>, newest_first: bool, after: Option<&str>, limit: usize) -> Option<Value> {
    if newest_first {
        items.reverse();
    }
    if let Some(after) = after {
        let at = items.iter().position(|item| item["id"] == after)?;
        items = items.split_off(at.saturating_add(1));
    }
    let has_more = items.len() > limit;
    items.truncate(limit);
    let id = |item: Option<&Value>| item.map_or(Value::Null, |item| item["id"].clone());
    Some(json!({
        "object": "list", "first_id": id(items.first()), "last_id": id(items.last()), "has_more": has_more,
        "data": items,
    }))
}

#[cfg(test)]
mod tests {
    use contracts::id::{SessionId, TurnId};

    use super::*;

    #[test]
    fn pages_follow_each_other() {
        let id = ResponseId::first(SessionId::new("s").unwrap(), TurnId::new("t").unwrap());
        let result = |call: &str, json: &str| ToolResult {
            tool_call_id: call.to_owned(),
            execution_ms: 0,
            outcome: ToolOutcome::ResultJson(json.to_owned()),
        };
        let items = of_results(&id, &[result("a", "\"sunny\""), result("b", "{\"x\":1}")]);
        assert_eq!((&items[0]["output"], &items[1]["output"]), (&json!("sunny"), &json!("{\"x\":1}")));
        let first = page(items.clone(), true, None, 1).unwrap();
        assert_eq!((&first["data"][0]["call_id"], &first["has_more"]), (&json!("b"), &json!(true)));
        let second = page(items.clone(), true, first["last_id"].as_str(), 1).unwrap();
        assert_eq!((&second["data"][0]["call_id"], &second["has_more"]), (&json!("a"), &json!(false)));
        assert_eq!(page(items, true, Some("other"), 1), None);
    }
}
