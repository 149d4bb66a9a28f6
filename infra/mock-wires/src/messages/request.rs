//! Requests of the Messages API.

use axum::http::HeaderMap;
use serde_json::{Map, Value};

use crate::messages::validate;
use mock_model::provider::{ErrorTemplate, Profile};
use mock_model::refusal::{Layout, Refusal};
use mock_model::request::{ModelRequest, forced_tool, read_message};
use mock_model::schema::{self, Schema};

static SCHEMA: Schema = Schema::new(|| schema::compile(include_str!("../../schema/create-message.json")));

const PUBLISHED: ErrorTemplate = ErrorTemplate {
    status: 400,
    layout: Layout::Typed,
    code: None,
    kind: "invalid_request_error",
    param: None,
    message: "",
};

/// The error for an input that exceeds the model's context.
pub(super) const OVERFLOW: ErrorTemplate =
    ErrorTemplate { message: "prompt is too long: 209000 tokens > 200000 maximum", ..PUBLISHED };

const UNKNOWN_MODEL: ErrorTemplate =
    ErrorTemplate { status: 404, kind: "not_found_error", message: "model: {model}", ..PUBLISHED };

/// Refuses a key that is missing or begins with `invalid`, and a request without a version.
pub(super) fn authorize(_: &Profile, headers: &HeaderMap) -> Result<(), Refusal> {
    let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let key = value("x-api-key").or_else(|| value("authorization")?.strip_prefix("Bearer "));
    if !key.is_some_and(|key| !key.is_empty() && !key.starts_with("invalid")) {
        let template = ErrorTemplate {
            status: 401,
            kind: "authentication_error",
            message: "invalid x-api-key",
            ..PUBLISHED
        };
        return Err(template.refusal("", ""));
    }
    if value("anthropic-version").is_none() {
        let template = ErrorTemplate { message: "anthropic-version: header is required", ..PUBLISHED };
        return Err(template.refusal("", "").into_invalid_request());
    }
    Ok(())
}

/// Reads a request and checks it as the provider does.
pub(super) fn read(profile: &'static Profile, body: &Value) -> Result<ModelRequest, Refusal> {
    schema::check(&SCHEMA, body).map_err(Refusal::into_invalid_request)?;
    let Some(body) = body.as_object() else {
        let message = "The body has to be a JSON object.";
        return Err(Refusal::invalid("invalid_type", "body", message).into_invalid_request());
    };
    let model = body.get("model").and_then(Value::as_str).unwrap_or_default().to_owned();
    validate::check(body).map_err(Refusal::into_invalid_request)?;
    if model.starts_with("missing-") {
        return Err(UNKNOWN_MODEL.refusal("", &model));
    }
    let (parts, outputs) = of_turn(body);
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

/// Returns the texts of the current turn's message and the tool results since. A message with results and without an
/// instruction continues the turn.
fn of_turn(body: &Map<String, Value>) -> (Vec<&str>, Vec<String>) {
    let messages: &[Value] = body.get("messages").and_then(Value::as_array).map_or(&[], Vec::as_slice);
    let own = messages.iter().rposition(|message| {
        let starts_turn =
            || results(message).next().is_none() || texts(message).any(|text| text.contains("[INSTRUCTION]"));
        message.get("role").is_some_and(|role| role == "user") && starts_turn()
    });
    let since = own.and_then(|own| messages.get(own..)).unwrap_or(messages);
    let (first, rest) = since.split_first().map_or((None, since), |(first, rest)| (Some(first), rest));
    let outputs = rest.iter().flat_map(results).filter_map(|block| block.get("content"));
    let outputs = outputs.map(|content| content.as_str().map_or_else(|| content.to_string(), str::to_owned));
    (first.map(|message| texts(message).collect()).unwrap_or_default(), outputs.collect())
}

fn blocks(message: &Value) -> impl Iterator<Item = &Value> {
    message.get("content").and_then(Value::as_array).into_iter().flatten()
}

fn results(message: &Value) -> impl Iterator<Item = &Value> {
    blocks(message).filter(|block| block.get("type").is_some_and(|kind| kind == "tool_result"))
}

fn texts(message: &Value) -> impl Iterator<Item = &str> {
    let whole = message.get("content").and_then(Value::as_str);
    whole.into_iter().chain(blocks(message).filter_map(|block| block.get("text")?.as_str()))
}
