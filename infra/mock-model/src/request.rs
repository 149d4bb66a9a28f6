//! Validated requests: the body, its position in the chain, and the newest user message.

use serde_json::{Map, Value};

use crate::id::{Issued, encrypted};
use crate::provider::{Chain, Profile};
use crate::refusal::Refusal;
use crate::schema::{self, Schema};
use crate::validate;

static SCHEMA: Schema = Schema::new(|| schema::compile(include_str!("../schema/create-response.json")));

/// A valid request.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The requested model.
    pub profile: &'static Profile,
    pub body: Map<String, Value>,
    pub model: String,
    pub stream: bool,
    pub store: bool,
    pub previous: Option<Issued>,
    /// Mode in `[MODE: …]` of the newest user message.
    pub mode: Option<String>,
    /// Text after `[INSTRUCTION]` in the newest user message, or all of its text.
    pub instruction: String,
    /// Earlier turns in the newest user message.
    pub earlier: String,
    /// Tool results in this request for the turn.
    pub outputs: Vec<String>,
    /// The tool that the model has to call.
    pub forced_tool: Option<String>,
}

impl ModelRequest {
    /// Checks the body as the provider does.
    pub fn read(profile: &'static Profile, body: &Value) -> Result<Self, Refusal> {
        schema::check(&SCHEMA, body).map_err(Refusal::into_invalid_request)?;
        let Some(body) = body.as_object() else {
            let message = "The body has to be a JSON object.";
            return Err(Refusal::invalid("invalid_type", "body", message).into_invalid_request());
        };
        validate::check(body).map_err(Refusal::into_invalid_request)?;
        profile.check(body)?;
        let model = field(body, "model").unwrap_or_default().to_owned();
        if model.starts_with("missing-") {
            return Err(profile.unknown_model.refusal("", &model));
        }
        let body = profile.read(body);
        let items: &[Value] = match body.get("input") {
            Some(Value::Array(items)) => items,
            _ => &[],
        };
        let previous = previous(profile, &body)?;
        if profile.checks_calls {
            check_calls(items, previous).map_err(Refusal::into_invalid_request)?;
            check_reasoning(items).map_err(Refusal::into_invalid_request)?;
        }
        let (own, since) = of_turn(items);
        let parts = match body.get("input") {
            Some(Value::String(text)) => vec![text.as_str()],
            _ => own.map(texts).unwrap_or_default(),
        };
        let (mode, instruction) = read_message(&parts);
        let earlier = parts.iter().find_map(|part| part.strip_prefix("[EARLIER_TURNS]")).unwrap_or_default();
        let flag = |name: &str| body.get(name).and_then(Value::as_bool);
        Ok(Self {
            profile,
            model,
            stream: flag("stream").unwrap_or(false),
            store: flag("store").unwrap_or(true) && matches!(profile.chain, Chain::Supported(_)),
            previous,
            mode,
            instruction,
            earlier: earlier.to_owned(),
            outputs: outputs(since),
            forced_tool: forced_tool(&body),
            body,
        })
    }

    /// True if the request asks for the title of its earlier turns.
    pub fn wants_title(&self) -> bool {
        !self.earlier.is_empty() && self.instruction.starts_with("Write a title")
    }

    /// True if the response must include this.
    pub fn includes(&self, what: &str) -> bool {
        let included = self.body.get("include").and_then(Value::as_array);
        included.is_some_and(|included| included.iter().any(|it| it == what))
    }

    /// True if the request offers the hosted tool of such an item.
    pub fn offers(&self, item: &str) -> bool {
        let tool = HOSTED.iter().find(|(item_type, _)| *item_type == item).map(|(_, tool)| *tool);
        let tools = self.body.get("tools").and_then(Value::as_array).into_iter().flatten();
        tool.is_some() && tools.into_iter().any(|it| it.get("type").and_then(Value::as_str) == tool)
    }

    /// True if the request offers a freeform tool of this name.
    pub fn has_freeform_tool(&self, name: &str) -> bool {
        let tools = self.body.get("tools").and_then(Value::as_array).into_iter().flatten();
        let is = |tool: &Value, member: &str, value: &str| tool.get(member).is_some_and(|it| it == value);
        tools.into_iter().any(|tool| is(tool, "type", "custom") && is(tool, "name", name))
    }

    /// True if a stream has usage. The Chat Completions API sends it only if asked for.
    pub fn asks_for_usage(&self) -> bool {
        let options = self.body.get("stream_options");
        options.and_then(|options| options.get("include_usage")) == Some(&Value::Bool(true))
    }
}

/// Returns the tool that `tool_choice` forces.
pub fn forced_tool(body: &Map<String, Value>) -> Option<String> {
    match body.get("tool_choice")? {
        Value::String(choice) if choice == "required" => name(body.get("tools")?.as_array()?.first()?),
        choice => name(choice),
    }
}

/// Returns the name of a tool or of a choice, which the Chat Completions API keeps in `function`.
fn name(tool: &Value) -> Option<String> {
    tool.get("name").or_else(|| tool.pointer("/function/name"))?.as_str().map(str::to_owned)
}

fn previous(profile: &Profile, body: &Map<String, Value>) -> Result<Option<Issued>, Refusal> {
    let Some(id) = field(body, "previous_response_id") else {
        return Ok(None);
    };
    match profile.chain {
        Chain::Supported(lost) => {
            let issued = Issued::read(id).filter(|issued| issued.stored);
            issued.map(Some).ok_or_else(|| lost.refusal(id, ""))
        }
        Chain::Refused(words) => Err(words.refusal(id, "")),
        Chain::Ignored => Ok(None),
    }
}

/// Checks that each call has exactly one later output, and each output an earlier call.
fn check_calls(items: &[Value], previous: Option<Issued>) -> Result<(), Refusal> {
    let refuse = |message: String| Err(Refusal { code: None, ..Refusal::invalid("", "input", message) });
    let mut open = previous.map(Issued::open_calls).unwrap_or_default();
    for item in items {
        let Some(id) = item.get("call_id").and_then(Value::as_str) else { continue };
        match item.get("type").and_then(Value::as_str) {
            Some("function_call" | "custom_tool_call") if open.iter().any(|call| call == id) => {
                return refuse(format!("Duplicate function call with call_id {id}."));
            }
            Some("function_call" | "custom_tool_call") => open.push(id.to_owned()),
            Some(kind @ ("function_call_output" | "custom_tool_call_output"))
                if items.iter().any(|call| is_other_kind(call, id, kind)) =>
            {
                return refuse(format!("The output with call_id {id} is of another type than its call."));
            }
            Some("function_call_output" | "custom_tool_call_output") => match open
                .iter()
                .position(|call| call == id)
            {
                Some(at) => drop(open.remove(at)),
                None => {
                    return refuse(format!("No tool call found for function call output with call_id {id}."));
                }
            },
            _ => {}
        }
    }
    match open.first() {
        Some(call) => refuse(format!("No tool output found for function call {call}.")),
        None => Ok(()),
    }
}

/// True if an item is the call with this id, but of another kind than its output.
fn is_other_kind(item: &Value, id: &str, output: &str) -> bool {
    let is_call = item.get("call_id").is_some_and(|it| it == id);
    let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
    is_call && !kind.ends_with("_output") && output.strip_suffix("_output") != Some(kind)
}

/// Item types of hosted tools, and the tool that produces each.
pub const HOSTED: [(&str, &str); 5] = [
    ("web_search_call", "web_search"),
    ("file_search_call", "file_search"),
    ("code_interpreter_call", "code_interpreter"),
    ("mcp_list_tools", "mcp"),
    ("mcp_call", "mcp"),
];

/// Checks that resent reasoning is unchanged and precedes its output.
fn check_reasoning(items: &[Value]) -> Result<(), Refusal> {
    let is = |item: &Value, name: &str, value: &str| item.get(name).and_then(Value::as_str) == Some(value);
    for (place, item) in items.iter().enumerate().filter(|(_, item)| is(item, "type", "reasoning")) {
        let id = item.get("id").and_then(Value::as_str).unwrap_or_default();
        if !is(item, "encrypted_content", &encrypted(id)) {
            let message = format!("The encrypted content for item {id} could not be verified.");
            return Err(Refusal::invalid("invalid_encrypted_content", "", message));
        }
        let led_to = |next: &Value| {
            is(next, "role", "assistant")
                || ["function_call", "custom_tool_call", "reasoning"]
                    .iter()
                    .any(|kind| is(next, "type", kind))
                || HOSTED.iter().any(|(item, _)| is(next, "type", item))
        };
        if !items.get(place + 1).is_some_and(led_to) {
            let message =
                format!("Item '{id}' of type 'reasoning' was provided without its required following item.");
            return Err(Refusal { code: None, ..Refusal::invalid("", "input", message) });
        }
    }
    Ok(())
}

/// True if an item is the output of a call.
fn is_output(item: &Value) -> bool {
    let kind = item.get("type").and_then(Value::as_str);
    matches!(kind, Some("function_call_output" | "custom_tool_call_output"))
}

fn outputs(items: &[Value]) -> Vec<String> {
    items
        .iter()
        .filter(|item| is_output(item))
        .filter_map(|item| item.get("output"))
        .map(|output| match output {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
        .collect()
}

/// Returns the message of the current turn and the items since. A message after tool results continues the turn:
/// in a full history, the turn's own message precedes them.
fn of_turn(items: &[Value]) -> (Option<&Value>, &[Value]) {
    let is = |item: &Value, name: &str, value: &str| item.get(name).and_then(Value::as_str) == Some(value);
    let messages = items.iter().enumerate().rev().filter(|(_, item)| is(item, "role", "user"));
    let mut own = messages.clone().filter(|(place, _)| {
        let before = place.checked_sub(1).and_then(|before| items.get(before));
        !before.is_some_and(is_output)
    });
    match (own.next(), messages.clone().next()) {
        (Some((place, message)), _) => (Some(message), items.get(place..).unwrap_or_default()),
        // A request that brings results alone.
        (None, newest) => (newest.map(|(_, message)| message), items),
    }
}

/// Returns the texts of a message.
pub fn texts(message: &Value) -> Vec<&str> {
    match message.get("content") {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the mode and the instruction of a message with these parts.
pub fn read_message(parts: &[&str]) -> (Option<String>, String) {
    let split = parts.iter().find_map(|part| part.split_once("[INSTRUCTION]"));
    let Some((header, instruction)) = split else {
        return (None, parts.join("\n"));
    };
    let mode = header
        .split_once("[MODE:")
        .and_then(|(_, rest)| rest.split_once(']'))
        .map(|(mode, _)| mode.trim().to_owned());
    (mode, instruction.trim().to_owned())
}

fn field<'a>(body: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    body.get(name).and_then(Value::as_str)
}
