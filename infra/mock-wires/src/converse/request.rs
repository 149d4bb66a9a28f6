//! Requests of the Converse API.

use axum::http::{HeaderMap, header};
use serde_json::{Map, Value};

use crate::converse::validate;
use mock_model::provider::{ErrorTemplate, Profile};
use mock_model::refusal::{Layout, Refusal};
use mock_model::request::{ModelRequest, read_message};
use mock_model::schema::{self, Schema};

static SCHEMA: Schema = Schema::new(|| schema::compile(include_str!("../../schema/converse-stream.json")));

const PUBLISHED: ErrorTemplate = ErrorTemplate {
    status: 400,
    layout: Layout::Aws,
    code: None,
    kind: "invalid_request_error",
    param: None,
    message: "",
};

/// The error for an input that exceeds the model's context.
pub(super) const OVERFLOW: ErrorTemplate =
    ErrorTemplate { message: "Input is too long for requested model.", ..PUBLISHED };

const UNKNOWN_MODEL: ErrorTemplate =
    ErrorTemplate { message: "The provided model identifier is invalid.", ..PUBLISHED };

const UNAUTHENTICATED: ErrorTemplate = ErrorTemplate {
    status: 403,
    message: "Authentication failed: Please make sure your API Key is valid.",
    ..PUBLISHED
};

/// Refuses a Bedrock API key that is missing or begins with `invalid`.
pub(super) fn authorize(_: &Profile, headers: &HeaderMap) -> Result<(), Refusal> {
    let key =
        headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    match key.is_some_and(|key| !key.is_empty() && !key.starts_with("invalid")) {
        true => Ok(()),
        false => Err(UNAUTHENTICATED.refusal("", "")),
    }
}

/// Reads the input of the operation and checks it as the provider does.
pub(super) fn read(profile: &'static Profile, body: &Value) -> Result<ModelRequest, Refusal> {
    schema::check(&SCHEMA, body).map_err(Refusal::into_invalid_request)?;
    let Some(body) = body.as_object() else {
        let message = "The body has to be a JSON object.";
        return Err(Refusal::invalid("invalid_type", "body", message).into_invalid_request());
    };
    let model = body.get("modelId").and_then(Value::as_str).unwrap_or_default().to_owned();
    validate::check(&model, body).map_err(Refusal::into_invalid_request)?;
    if model.starts_with("missing-") {
        return Err(UNKNOWN_MODEL.refusal("", &model));
    }
    let (parts, outputs) = of_turn(body);
    let (mode, instruction) = read_message(&parts);
    let earlier = parts.iter().find_map(|part| part.strip_prefix("[EARLIER_TURNS]")).unwrap_or_default();
    Ok(ModelRequest {
        profile,
        model,
        stream: true,
        store: false,
        previous: None,
        mode,
        instruction,
        earlier: earlier.to_owned(),
        outputs,
        forced_tool: body
            .get("toolConfig")
            .and_then(|config| config.pointer("/toolChoice/tool/name")?.as_str().map(str::to_owned)),
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
    let outputs = rest.iter().flat_map(results);
    let outputs = outputs.filter_map(|result| result.pointer("/content/0/text")?.as_str().map(str::to_owned));
    (first.map(|message| texts(message).collect()).unwrap_or_default(), outputs.collect())
}

fn blocks(message: &Value) -> impl Iterator<Item = &Value> {
    message.get("content").and_then(Value::as_array).into_iter().flatten()
}

fn results(message: &Value) -> impl Iterator<Item = &Value> {
    blocks(message).filter_map(|block| block.get("toolResult"))
}

fn texts(message: &Value) -> impl Iterator<Item = &str> {
    blocks(message).filter_map(|block| block.get("text")?.as_str())
}
