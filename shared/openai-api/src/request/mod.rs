//! Requests for responses: every member is read, or refused by name.

mod contents;
mod conversation;
mod input;
mod members;
mod settings;
#[cfg(test)]
mod tests;
mod turn;

use agent::context::check_options;
use contracts::{id::SessionId, request::TurnOptions};
use serde_json::{Map, Value, json};

use crate::{
    error::ApiError,
    id::{self, ResponseId},
};

pub use conversation::check_conversation;
pub use input::{Content, FunctionOutput, InlineData, Input, InputFile, UserMessage};
pub(crate) use input::{data_url, input_file};
pub(crate) use members::Members;
pub(crate) use settings::{function, tool_choice};
pub use turn::tool_continuation;

/// The prefix of a `model` that names an agent.
pub const AGENT: &str = "agent/";

/// The members that the service honours or takes as hints.
const KNOWN: &[&str] = &[
    "background",
    "context_management",
    "conversation",
    "include",
    "input",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "model",
    "moderation",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
];

/// The members that the service knows and can't honour, with the alternative.
const UNSUPPORTED: &[(&str, &str)] = &[
    ("context_management", "The service compacts long conversations itself."),
    ("max_tool_calls", "The agent's context limits the rounds of a turn."),
    ("moderation", "Omit it."),
    ("prompt", "Name an agent in 'model', or send 'instructions'."),
    ("prompt_cache_options", "Omit it."),
];

/// Members that are repeated in the response. The first ones are hints without an effect.
const REPEATED: &[&str] = &[
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "user",
    "background",
    "instructions",
    "max_output_tokens",
    "metadata",
    "model",
    "parallel_tool_calls",
    "service_tier",
    "temperature",
    "top_p",
];

const MAX_METADATA: usize = 16;
const MAX_METADATA_KEY_CHARS: usize = 64;
const MAX_METADATA_VALUE_CHARS: usize = 512;

/// The parent of a new turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parent {
    /// None: the turn begins a session.
    None,
    /// A response.
    Response(ResponseId),
    /// The last turn of a session, which may be new.
    Conversation(SessionId),
}

/// A request for a response.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateResponse {
    /// The agent, if `model` names one.
    pub agent: Option<String>,
    /// The parent of the turn.
    pub parent: Parent,
    /// The new input.
    pub input: Input,
    /// The standing instructions, with the system messages' instructions.
    pub instructions: String,
    /// The settings of the turn.
    pub options: TurnOptions,
    /// True if the response is streamed.
    pub stream: bool,
    /// True if the client doesn't wait for the response.
    pub background: bool,
}

impl CreateResponse {
    /// Parses a body.
    ///
    /// # Errors
    /// Returns the first member that is invalid, unknown or not supported.
    pub fn parse(body: &[u8]) -> Result<Self, ApiError> {
        let value = json_body(body)?;
        let members = Members::read(&value, "", KNOWN)?;
        for (name, alternative) in UNSUPPORTED {
            if members.get(name).is_some() {
                return Err(members.unsupported(name, alternative));
            }
        }
        check_delivery(&members)?;
        let model = members.required_text("model")?;
        let (settings, choice) = settings::read(&members)?;
        let items = input::read(&members)?;
        let parent = parent(&members, items.anchor.clone())?;
        let own = members.text("instructions")?;
        let instructions: Vec<&str> =
            own.into_iter().chain(items.system.iter().map(String::as_str)).collect();
        let background = members.flag("background")?.unwrap_or_default();
        let mut repeated: Map<String, Value> = REPEATED
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), members.get(name)?.clone())))
            .collect();
        repeated.extend(choice);
        match &parent {
            Parent::None => {}
            Parent::Response(response) => {
                repeated.insert("previous_response_id".to_owned(), json!(response.to_string()));
            }
            Parent::Conversation(session) => {
                repeated.insert("conversation".to_owned(), json!({"id": id::conversation(session)}));
            }
        }
        let agent = model.strip_prefix(AGENT).map(str::to_owned);
        let model = agent.is_none().then(|| model.to_owned());
        let options = checked(TurnOptions { model, repeated: Value::Object(repeated), ..settings })?;
        Ok(Self {
            agent,
            parent,
            input: items.input,
            instructions: instructions.join("\n\n"),
            options,
            stream: members.flag("stream")?.unwrap_or_default(),
            background,
        })
    }
}

/// Parses a body.
pub(crate) fn json_body(body: &[u8]) -> Result<Value, ApiError> {
    serde_json::from_slice(body).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let message = format!("The body is not valid JSON (line {line}, column {column}).");
        ApiError::invalid("", "invalid_json", message)
    })
}

/// Returns options that break no rule of the service.
pub(crate) fn checked(options: TurnOptions) -> Result<TurnOptions, ApiError> {
    check_options(&options).map_err(|faults| {
        let fault = faults.as_slice().first();
        fault.map_or_else(
            || ApiError::value("", "is invalid"),
            |fault| ApiError::value(&fault.path, &fault.message),
        )
    })?;
    Ok(options)
}

/// Checks the members that say how a response is stored and delivered.
fn check_delivery(members: &Members<'_>) -> Result<(), ApiError> {
    if members.flag("store")? == Some(false) {
        let alternative = "Every response is stored. Delete it with DELETE /v1/responses/{id}.";
        return Err(members.unsupported("store", alternative));
    }
    match members.text("truncation")? {
        None | Some("auto") => {}
        Some("disabled") => {
            return Err(
                members.unsupported("truncation", "The service compacts long conversations; use 'auto'.")
            );
        }
        Some(_) => return Err(members.rule("truncation", "must be 'auto'")),
    }
    if let Some(options) = members.get("stream_options") {
        let options = Members::read(options, "stream_options", &["include_obfuscation"])?;
        if options.flag("include_obfuscation")? == Some(true) {
            return Err(options.unsupported("include_obfuscation", "Omit it."));
        }
    }
    if members.get("top_logprobs").is_some_and(|count| *count != json!(0)) {
        return Err(members.unsupported("top_logprobs", "Omit it."));
    }
    for include in members.list("include")? {
        // The others are about items that a response of this service doesn't have.
        if include == "message.output_text.logprobs" {
            return Err(members.unsupported("include", "Log probabilities aren't available."));
        }
    }
    check_metadata(members)
}

fn check_metadata(members: &Members<'_>) -> Result<(), ApiError> {
    let Some(metadata) = members.get("metadata") else { return Ok(()) };
    let Value::Object(pairs) = metadata else { return Err(members.rule("metadata", "must be an object")) };
    let is_valid = |(key, value): (&String, &Value)| {
        let value = value.as_str().map(|value| value.chars().count());
        key.chars().count() <= MAX_METADATA_KEY_CHARS
            && value.is_some_and(|chars| chars <= MAX_METADATA_VALUE_CHARS)
    };
    if pairs.len() > MAX_METADATA || !pairs.iter().all(is_valid) {
        let rule = "must hold at most 16 strings of 512 characters, with keys of 64";
        return Err(members.rule("metadata", rule));
    }
    Ok(())
}

/// Reads the parent of the turn. Items of earlier responses in the input name the response that they belong to.
fn parent(members: &Members<'_>, anchor: Option<ResponseId>) -> Result<Parent, ApiError> {
    let previous = members.text("previous_response_id")?;
    let conversation = match members.get("conversation") {
        None => None,
        Some(Value::String(id)) => Some(id.as_str()),
        Some(object) => Some(Members::read(object, "conversation", &["id"])?.required_text("id")?),
    };
    match (previous, conversation) {
        (Some(_), Some(_)) => {
            let rule = "can't be used together with 'conversation'";
            Err(members.rule("previous_response_id", rule))
        }
        (Some(previous), None) => {
            let response =
                ResponseId::parse(previous).ok_or_else(|| ApiError::previous_not_found(previous))?;
            match anchor {
                Some(anchor) if anchor != response => {
                    Err(members.rule("input", "holds items of another response than 'previous_response_id'"))
                }
                _ => Ok(Parent::Response(response)),
            }
        }
        (None, Some(conversation)) => {
            let unknown = || ApiError::conversation_not_found("conversation", conversation);
            let session = id::parse_conversation(conversation).ok_or_else(unknown)?;
            if anchor.is_some() {
                return Err(members.rule("input", "may hold new items alone with 'conversation'"));
            }
            Ok(Parent::Conversation(session))
        }
        (None, None) => Ok(anchor.map_or(Parent::None, Parent::Response)),
    }
}
