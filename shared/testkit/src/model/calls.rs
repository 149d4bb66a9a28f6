//! Tool calls of the mock model. The instruction spells them, so that a client controls its turn.
//!
//! Each word after `calls:` is a reply, and each of its letters a call. The reply after the last word is text. `"Go
//! calls: sc c"` yields a mixed reply, then one that calls a client tool, then the answer.

use agent::model::{FunctionCall, Request};
use serde_json::json;

/// Introduces the calls in an instruction.
const OPENING: &str = "calls:";

/// The tool whose calls the client answers.
const CLIENT_TOOL: &str = "workspace_read_file";

/// Returns the replies that call tools, one word each.
pub(super) fn script(instruction: &str) -> Vec<String> {
    let words = instruction.split_once(OPENING).map(|(_, words)| words).unwrap_or_default();
    words.split_whitespace().map(str::to_owned).collect()
}

/// Returns the calls of one reply. `reply` makes their ids unique.
pub(super) fn parse(word: &str, reply: u64) -> Vec<FunctionCall> {
    let call = |(position, letter)| {
        let (name, arguments) = match letter {
            's' => ("code_hash_normalized", json!({ "text": format!("{reply}") })),
            'm' => (
                "agent_change_mode",
                json!({ "mode": "ddr_authoring", "branch": false, "reason": format!("reply {reply}") }),
            ),
            'f' => (
                "publish_file",
                json!({
                    "name": "notes.txt", "media_type": "text/plain", "contents": format!("{reply}"),
                    "encoding": "utf8", "description": null,
                }),
            ),
            'c' => (CLIENT_TOOL, json!({ "path": format!("{reply}/{position}.rs") })),
            // Remote tools by their class. Equal orders would be equal calls.
            'r' => ("remote_read", json!({ "order": format!("{reply}/{position}") })),
            'p' => ("remote_repeatable", json!({ "order": format!("{reply}/{position}") })),
            'k' => ("remote_keyed", json!({ "order": format!("{reply}/{position}") })),
            'e' => ("remote_effect", json!({ "order": format!("{reply}/{position}") })),
            // The same call in every turn.
            'E' => ("remote_effect", json!({ "order": "same" })),
            'u' => ("nobody_knows_this", json!({})),
            other => unreachable!("no call is spelled {other:?}"),
        };
        FunctionCall {
            call_id: format!("call_{reply}_{position}"),
            name: name.to_owned(),
            arguments: arguments.to_string(),
        }
    };
    word.chars().enumerate().map(call).collect()
}

/// Returns the number of the reply that made a call.
pub(super) fn reply_number(call: &FunctionCall) -> Option<u64> {
    call.call_id.split('_').nth(1)?.parse().ok()
}

/// Returns true if the client answers this call.
#[must_use]
pub fn is_clients(call: &FunctionCall) -> bool {
    call.name == CLIENT_TOOL
}

/// Returns true if the request offers the tools of all calls, except the unknown one.
pub(super) fn are_offered(calls: &[FunctionCall], request: &Request) -> bool {
    let offered = |name: &str| request.tools.iter().any(|tool| tool.name == name);
    calls.iter().all(|call| offered(&call.name) || call.name == "nobody_knows_this")
}
