//! Requests for chat completions.

use contracts::request::{FunctionTool, JsonFormat, TurnOptions};
use serde_json::{Map, Value, json};

use super::{
    history::History,
    messages::{self, Messages},
};
use crate::{
    error::ApiError,
    id::ResponseId,
    request::{AGENT, CreateResponse, Members, Parent, checked},
};

const KNOWN: &[&str] = &[
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "modalities",
    "model",
    "moderation",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
];

/// The members that the service can't honour, each with the values that ask for nothing.
fn neutral(name: &str) -> Option<Vec<Value>> {
    let values = match name {
        "n" => vec![json!(1)],
        "frequency_penalty" | "presence_penalty" => vec![json!(0), json!(0.0)],
        "logprobs" => vec![json!(false)],
        "top_logprobs" => vec![json!(0)],
        "stop" => vec![json!([]), json!("")],
        "logit_bias" => vec![json!({})],
        "modalities" => vec![json!(["text"])],
        "audio"
        | "function_call"
        | "functions"
        | "moderation"
        | "prediction"
        | "prompt_cache_options"
        | "seed"
        | "web_search_options" => Vec::new(),
        _ => return None,
    };
    Some(values)
}

/// A request for a chat completion.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// The request as one for a response. Its parent isn't known yet.
    pub create: CreateResponse,
    /// The history of the chat.
    pub history: History,
    /// The response that called the functions whose outputs are the input.
    pub caller: Option<ResponseId>,
    /// True if a stream ends with the usage.
    pub include_usage: bool,
    /// The model as the request names it.
    pub model: String,
}

impl ChatRequest {
    /// Parses a body.
    ///
    /// # Errors
    /// Returns the first member that is invalid, unknown or not supported.
    pub fn parse(body: &[u8]) -> Result<Self, ApiError> {
        let value = crate::request::json_body(body)?;
        let members = Members::read(&value, "", KNOWN)?;
        for name in KNOWN {
            let asks = |values: Vec<Value>| members.get(name).is_some_and(|value| !values.contains(value));
            if neutral(name).is_some_and(asks) {
                return Err(members.unsupported(name, "Omit it."));
            }
        }
        if members.flag("store")? == Some(false) {
            return Err(members.unsupported("store", "Every turn is stored. Delete its session instead."));
        }
        let model = members.required_text("model")?.to_owned();
        let agent = model.strip_prefix(AGENT);
        let Messages { system, input, caller, history } = messages::read(&members, agent)?;
        let settings = settings(&members)?;
        let repeated = repeated(&members);
        let options = TurnOptions { model: agent.is_none().then(|| model.clone()), repeated, ..settings };
        let options = checked(options)?;
        let create = CreateResponse {
            agent: agent.map(str::to_owned),
            parent: Parent::None,
            input,
            instructions: system.join("\n\n"),
            options,
            stream: members.flag("stream")?.unwrap_or_default(),
            background: false,
        };
        let include_usage = match members.get("stream_options") {
            None => false,
            Some(options) => {
                let options =
                    Members::read(options, "stream_options", &["include_usage", "include_obfuscation"])?;
                if options.flag("include_obfuscation")? == Some(true) {
                    return Err(options.unsupported("include_obfuscation", "Omit it."));
                }
                options.flag("include_usage")?.unwrap_or_default()
            }
        };
        Ok(Self { create, history, caller, include_usage, model })
    }
}

/// Returns the members that a response of the turn repeats, should it be read as one.
fn repeated(members: &Members<'_>) -> Value {
    let names = ["model", "metadata", "temperature", "top_p", "user", "parallel_tool_calls"];
    let pairs = names.iter().filter_map(|name| Some(((*name).to_owned(), members.get(name)?.clone())));
    Value::Object(pairs.collect::<Map<_, _>>())
}

fn settings(members: &Members<'_>) -> Result<TurnOptions, ApiError> {
    let tools = members.list("tools")?.iter().enumerate();
    let tools = tools.map(|(n, tool)| function(tool, n)).collect::<Result<Vec<_>, _>>()?;
    let (tools, tool_choice) = choice(members, tools)?;
    let word = |name: &str| Ok::<_, ApiError>(members.text(name)?.map(str::to_owned));
    let limit =
        if members.get("max_completion_tokens").is_some() { "max_completion_tokens" } else { "max_tokens" };
    Ok(TurnOptions {
        model: None,
        tools,
        tool_choice,
        parallel_tool_calls: members.flag("parallel_tool_calls")?,
        temperature: members.number("temperature")?,
        top_p: members.number("top_p")?,
        max_output_tokens: members.count(limit)?,
        reasoning_effort: word("reasoning_effort")?,
        verbosity: word("verbosity")?,
        text_format: format(members)?,
        service_tier: word("service_tier")?,
        repeated: Value::Null,
    })
}

fn function(tool: &Value, n: usize) -> Result<FunctionTool, ApiError> {
    let path = format!("tools[{n}]");
    let kind = tool.get("type").and_then(Value::as_str).unwrap_or_default();
    if kind != "function" {
        let alternative = format!("'{kind}' tools can't be sent; use type 'function'.");
        return Err(ApiError::unsupported(&format!("{path}.type"), &alternative));
    }
    let tool = Members::read(tool, &path, &["type", "function"])?;
    let function = tool.get("function").ok_or_else(|| tool.missing("function"))?;
    crate::request::function(
        function,
        &tool.param("function"),
        &["name", "description", "parameters", "strict"],
    )
}

fn choice(
    members: &Members<'_>,
    tools: Vec<FunctionTool>,
) -> Result<(Vec<FunctionTool>, Option<String>), ApiError> {
    let named = members.get("tool_choice").and_then(|choice| choice.get("function")?.get("name")?.as_str());
    let choice = match (members.get("tool_choice"), named) {
        (None, _) => return Ok((tools, None)),
        (Some(_), Some(name)) => json!({"type": "function", "name": name}),
        (Some(choice), None) => choice.clone(),
    };
    crate::request::tool_choice(members, &choice, tools)
}

fn format(members: &Members<'_>) -> Result<Option<JsonFormat>, ApiError> {
    let Some(format) = members.get("response_format") else { return Ok(None) };
    match format.get("type").and_then(Value::as_str) {
        Some("text") => Ok(None),
        Some("json_schema") => {
            let format = Members::read(format, "response_format", &["type", "json_schema"])?;
            let schema = format.get("json_schema").ok_or_else(|| format.missing("json_schema"))?;
            let path = format.param("json_schema");
            let schema = Members::read(schema, &path, &["name", "description", "schema", "strict"])?;
            Ok(Some(JsonFormat {
                name: schema.required_text("name")?.to_owned(),
                description: schema.text("description")?.map(str::to_owned),
                schema: schema.get("schema").cloned().ok_or_else(|| schema.missing("schema"))?,
                strict: schema.flag("strict")?.unwrap_or_default(),
            }))
        }
        Some(_) | None => Err(members.unsupported("response_format", "Use 'text' or 'json_schema'.")),
    }
}
