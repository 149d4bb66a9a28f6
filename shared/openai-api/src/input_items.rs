//! The input items of a response, and pages of items.

use base64::{Engine, engine::general_purpose::STANDARD};
use contracts::{
    UserTurn,
    request::Contents,
    response::{ToolCall, ToolOutcome, ToolResult},
};
use serde_json::{Value, json};

use turns::flow::TurnSnapshot;

use crate::{id::ResponseId, request::CalledTool};

/// The largest page, unless a single item is larger. Lambda's responses are limited to 6 MiB.
const MAX_PAGE_BYTES: usize = 4 << 20;

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

/// Returns the items of a response that continues with the results of these calls.
fn of_results(id: &ResponseId, results: &[ToolResult], types: &[String]) -> Vec<Value> {
    // They answer the calls of the response before, in order.
    let before = ResponseId { round: id.round.saturating_sub(1), ..id.clone() };
    let item = |(n, result): (usize, &ToolResult)| {
        let output = match &result.outcome {
            // A text that isn't JSON was stored as a JSON string.
            ToolOutcome::ResultJson(json) => {
                serde_json::from_str::<String>(json).unwrap_or_else(|_| json.clone())
            }
            ToolOutcome::ErrorMessage(message) => message.clone(),
        };
        json!({
            "id": id.input(n), "type": types.get(n).map_or("function_call_output", String::as_str),
            "status": "completed", "call_id": before.call(n), "output": output,
        })
    };
    results.iter().enumerate().map(item).collect()
}

/// Returns the input items of a stored response.
#[must_use]
pub fn of_snapshot(id: &ResponseId, snapshot: &TurnSnapshot) -> Vec<Value> {
    match id.round.checked_sub(1) {
        None => of_request(id, &snapshot.request),
        Some(before) => {
            let Some(suspension) = snapshot.suspension(before) else { return Vec::new() };
            let tools = snapshot.request.options.as_ref().and_then(|options| options.repeated.get("tools"));
            let output =
                |call: &ToolCall| format!("{}_output", CalledTool::find(tools, &call.name).call_type());
            let types: Vec<String> = suspension.calls.iter().map(output).collect();
            of_results(id, &suspension.results, &types)
        }
    }
}

/// The part of a list that a caller asks for.
#[derive(Debug, Clone, Copy)]
pub struct Paging<'a> {
    /// The order.
    pub newest_first: bool,
    /// The id of the item before the page.
    pub after: Option<&'a str>,
    /// The largest number of items.
    pub limit: usize,
}

impl<'a> Paging<'a> {
    /// Returns the empty page.
    #[must_use]
    pub fn page(self) -> Page<'a> {
        Page { skip_to: self.after, limit: self.limit, items: Vec::new(), bytes: 0, has_more: false }
    }
}

/// A page of items, which ends before it is too large for a response.
#[derive(Debug)]
pub struct Page<'a> {
    /// The id of the item before the page, until it was seen.
    skip_to: Option<&'a str>,
    limit: usize,
    items: Vec<Value>,
    bytes: usize,
    has_more: bool,
}

impl Page<'_> {
    /// Adds items in the order of the list. Returns false once the page is full.
    pub fn extend(&mut self, items: Vec<Value>) -> bool {
        for item in items {
            if let Some(before) = self.skip_to {
                if item.get("id").is_some_and(|id| id == before) {
                    self.skip_to = None;
                }
                continue;
            }
            let bytes = self.bytes.saturating_add(item.to_string().len());
            if self.items.len() == self.limit || bytes > MAX_PAGE_BYTES && !self.items.is_empty() {
                self.has_more = true;
                return false;
            }
            self.bytes = bytes;
            self.items.push(item);
        }
        true
    }

    /// Returns the page as a list. `None` if no item had the id of the item before it.
    #[must_use]
    pub fn finish(self) -> Option<Value> {
        if self.skip_to.is_some() {
            return None;
        }
        let id = |item: Option<&Value>| item.and_then(|item| item.get("id")).cloned();
        Some(json!({
            "object": "list", "first_id": id(self.items.first()), "last_id": id(self.items.last()),
            "has_more": self.has_more, "data": self.items,
        }))
    }
}

#[cfg(test)]
mod tests {
    use contracts::id::{SessionId, TurnId};

    use super::*;

    #[test]
    fn pages_follow_each_other() {
        let first = ResponseId::first(SessionId::new("s").unwrap(), TurnId::new("t").unwrap());
        let id = first.next();
        let result = |call: &str, json: &str| ToolResult {
            tool_call_id: call.to_owned(),
            execution_ms: 0,
            outcome: ToolOutcome::ResultJson(json.to_owned()),
        };
        let items = of_results(&id, &[result("a", "\"sunny\""), result("b", "{\"x\":1}")], &[]);
        assert_eq!((&items[0]["output"], &items[1]["output"]), (&json!("sunny"), &json!("{\"x\":1}")));
        assert_eq!(items[1]["call_id"], first.call(1));
        let page = |after: Option<&str>| {
            let mut page = Paging { newest_first: true, after, limit: 1 }.page();
            page.extend(items.iter().rev().cloned().collect());
            page.finish()
        };
        let newest = page(None).unwrap();
        assert_eq!((&newest["data"][0], &newest["has_more"]), (&items[1], &json!(true)));
        let oldest = page(newest["last_id"].as_str()).unwrap();
        assert_eq!((&oldest["data"][0], &oldest["has_more"]), (&items[0], &json!(false)));
        assert_eq!(page(Some("other")), None);
    }

    #[test]
    fn large_items_end_a_page_early() {
        let item = |id: &str| json!({"id": id, "content": "a".repeat(3 << 20)});
        let mut page = Paging { newest_first: false, after: None, limit: 10 }.page();
        assert!(!page.extend(vec![item("1"), item("2")]));
        let page = page.finish().unwrap();
        assert_eq!((&page["last_id"], &page["has_more"]), (&json!("1"), &json!(true)));
    }
}
