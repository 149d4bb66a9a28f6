//! Requests of the Chat Completions API.

use serde_json::{Map, Value};

use crate::chat::validate;
use mock_model::provider::Profile;
use mock_model::refusal::Refusal;
use mock_model::request::{ModelRequest, forced_tool, read_message, texts};
use mock_model::schema::{self, Schema};

static SCHEMA: Schema =
    Schema::new(|| schema::compile(include_str!("../../schema/create-chat-completion.json")));

/// Members of an assistant message that some servers add to the published ones, and expect back.
const ADDED: [&str; 2] = ["reasoning_content", "reasoning"];

/// Reads a request and checks it as the provider does.
pub(super) fn read(profile: &'static Profile, body: &Value) -> Result<ModelRequest, Refusal> {
    schema::check(&SCHEMA, &published(body)).map_err(Refusal::into_invalid_request)?;
    let Some(body) = body.as_object() else {
        let message = "The body has to be a JSON object.";
        return Err(Refusal::invalid("invalid_type", "body", message).into_invalid_request());
    };
    validate::check(body).map_err(Refusal::into_invalid_request)?;
    let model = body.get("model").and_then(Value::as_str).unwrap_or_default().to_owned();
    if model.starts_with("missing-") {
        return Err(profile.unknown_model.refusal("", &model));
    }
    validate::check_options(body)?;
    let (parts, outputs) = of_turn(body);
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let (mode, instruction) = read_message(&parts);
    let earlier = parts.iter().find_map(|part| part.strip_prefix("[EARLIER_TURNS]")).unwrap_or_default();
    Ok(ModelRequest {
        profile,
        model,
        stream: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
        store: false,
        previous: None,
        mode,
        instruction,
        earlier: earlier.to_owned(),
        outputs,
        forced_tool: forced_tool(body),
        body: body.clone(),
    })
}

/// Returns the body without what servers add to the published API.
fn published(body: &Value) -> Value {
    let mut body = body.clone();
    let messages = body.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten();
    for message in messages.filter_map(Value::as_object_mut) {
        message.retain(|name, _| !ADDED.contains(&name.as_str()));
        let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten();
        for call in calls.filter_map(Value::as_object_mut) {
            call.remove("extra_content");
        }
    }
    body
}

/// Returns the parts of the current turn's message and the tool results since.
fn of_turn(body: &Map<String, Value>) -> (Vec<String>, Vec<String>) {
    let messages: &[Value] = body.get("messages").and_then(Value::as_array).map_or(&[], Vec::as_slice);
    let is = |message: &Value, role: &str| message.get("role").and_then(Value::as_str) == Some(role);
    let own = messages.iter().rposition(|message| is(message, "user"));
    let since = own.and_then(|own| messages.get(own..)).unwrap_or(messages);
    let parts = since.first().map(texts).unwrap_or_default();
    let outputs = since.iter().filter(|message| is(message, "tool")).map(|message| texts(message).join(""));
    (parts.into_iter().flat_map(blocks).collect(), outputs.collect())
}

/// Splits a text at the headers of its blocks, such as `[CONTEXT]`. The mode and the instruction stay together.
fn blocks(text: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    for part in text.split("\n\n") {
        let header = part.strip_prefix('[').and_then(|rest| rest.split([']', ':', ' ']).next());
        let is_header = header.is_some_and(|header| {
            header != "INSTRUCTION"
                && !header.is_empty()
                && header.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_')
        });
        match blocks.last_mut() {
            Some(last) if !is_header => {
                last.push_str("\n\n");
                last.push_str(part);
            }
            _ => blocks.push(part.to_owned()),
        }
    }
    blocks
}
