//! Recognizes rejections of one parameter, which no other form of the conversation can avoid.

use crate::error_object::ErrorObject;

/// Parameters that hold the conversation or ask for its storage. A request with the full history has others.
const CONVERSATION: [&str; 7] =
    ["input", "previous_response_id", "response_id", "conversation", "store", "include", "messages"];

/// Parameters that messages without a `param` name in quotes.
const QUOTED: [&str; 15] = [
    "temperature",
    "top_p",
    "max_output_tokens",
    "max_tokens",
    "max_completion_tokens",
    "tool_choice",
    "parallel_tool_calls",
    "reasoning.effort",
    "reasoning_effort",
    "reasoning.summary",
    "text.format",
    "response_format",
    "text.verbosity",
    "prompt_cache_key",
    "safety_identifier",
];

/// True if the error is about a parameter other than the conversation.
pub(super) fn is_named(error: &ErrorObject) -> bool {
    match error.param.as_deref().filter(|param| !param.is_empty()) {
        Some(param) => {
            let root = param.split(['.', '[']).next().unwrap_or_default();
            !CONVERSATION.contains(&root) && is_identifier(root)
        }
        None => error.message.as_deref().is_some_and(|message| quoted(message).is_some()),
    }
}

/// Words of messages that refuse a parameter whatever its value, in lower case.
const UNSUPPORTED: [&str; 6] = [
    "unsupported parameter",
    "unknown parameter",
    "unrecognized request argument",
    "extra inputs are not permitted",
    "is not supported",
    "is deprecated for this model",
];

/// Returns the parameter that the error refuses. The two for sampling are refused whatever the error says of their value:
/// many models accept the default alone.
pub(super) fn refused(error: &ErrorObject) -> Option<String> {
    let message = error.message.as_deref().unwrap_or_default();
    let param = error.param.as_deref().filter(|param| !param.is_empty());
    // Anthropic's messages begin with the name.
    let leading = || message.split_once(':').map(|(name, _)| name).filter(|name| QUOTED.contains(name));
    let name = param.or_else(|| quoted(message)).or_else(leading)?;
    let text = message.to_ascii_lowercase();
    let is_unsupported = matches!(error.code.as_deref(), Some("unsupported_parameter" | "unknown_parameter"))
        || !text.contains("value") && UNSUPPORTED.iter().any(|words| text.contains(words));
    (is_unsupported || matches!(name, "temperature" | "top_p")).then(|| name.to_owned())
}

/// True if the error is about a text of the conversation: the input or a part of its content, or the instructions.
pub(super) fn is_content(error: &ErrorObject) -> bool {
    let mut names = error.param.as_deref().unwrap_or_default().split(['.', '[', ']']);
    let root = names.next().unwrap_or_default();
    let is_member = |name: &&str| !name.is_empty() && !name.bytes().all(|byte| byte.is_ascii_digit());
    let members: Vec<&str> = names.filter(is_member).collect();
    match root {
        "instructions" | "system" => true,
        "input" | "messages" => {
            matches!(
                members.as_slice(),
                [] | ["content" | "output" | "arguments"] | ["content" | "output", "text"]
            )
        }
        _ => false,
    }
}

/// True for the name of a parameter. Some servers put other words there.
fn is_identifier(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

fn quoted(message: &str) -> Option<&str> {
    let mut quoted = message.split(['\'', '"', '`']).skip(1).step_by(2);
    quoted.find(|word| QUOTED.contains(word))
}
