//! Which tools the model calls: written into the instruction, so that a client decides what its turn does.
//!
//! After `calls:` each word is one reply, each letter of it one call; the reply after the last word is
//! text. `"Go calls: sc c"` is a mixed reply, then one that calls a client tool, then the answer.

use agent::model::{FunctionCall, Request};
use serde_json::json;

/// Introduces the calls in an instruction.
const OPENING: &str = "calls:";

/// Calls that the client answers.
const CLIENT_TOOL: &str = "workspace_read_file";

/// The replies that call tools, one word each.
pub(super) fn script(instruction: &str) -> Vec<String> {
    let words = instruction.split_once(OPENING).map(|(_, words)| words).unwrap_or_default();
    words.split_whitespace().map(str::to_owned).collect()
}

/// The calls of one reply; `reply` makes their ids unique.
pub(super) fn of(word: &str, reply: u64) -> Vec<FunctionCall> {
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

/// Which reply made a call.
pub(super) fn reply_of(call: &FunctionCall) -> Option<u64> {
    call.call_id.split('_').nth(1)?.parse().ok()
}

/// Whether the client answers calls of this tool.
#[must_use]
pub fn is_clients(call: &FunctionCall) -> bool {
    call.name == CLIENT_TOOL
}

/// Whether the request offers every tool that the calls are of, but the one that nobody knows.
pub(super) fn are_offered(calls: &[FunctionCall], request: &Request) -> bool {
    let offered = |name: &str| request.tools.iter().any(|tool| tool.name == name);
    calls.iter().all(|call| offered(&call.name) || call.name == "nobody_knows_this")
}
