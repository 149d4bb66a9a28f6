//! Requests for chat completions.

use contracts::request::{FunctionTool, TurnOptions};
use histories::Chat;
use serde_json::{Map, Value, json};

use super::{
    messages::{self, Messages},
    object::Completion,
};
use crate::{
    error::ApiError,
    id::ResponseId,
    request::{
        AnswerFormat, Body, Choice, Ignored, Members, checked, collect, custom, each_tool, freeform_names,
        function, json_format, standing, tool_choice,
    },
};

/// A request for a chat completion.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// The chat.
    pub chat: Chat,
    /// True if a stream ends with the usage.
    pub include_usage: bool,
    /// The model as the request names it.
    pub model: String,
    /// What the request asks for without an effect.
    pub ignored: Ignored,
}

impl ChatRequest {
    /// Parses a body. `is_retry` is set if the client repeats the request.
    ///
    /// # Errors
    /// Returns the first member that is invalid or not supported.
    pub fn parse(body: &Body, is_retry: bool) -> Result<Self, ApiError> {
        let (parsed, ignored) = collect(|| Self::read(body, is_retry))?;
        Ok(Self { ignored, ..parsed })
    }

    /// Returns the members of its completion, besides the outcome.
    #[must_use]
    pub fn completion(&self, response: ResponseId, created: i64) -> Completion {
        let freeform = freeform_names(&self.chat.options.tools);
        Completion { response, created, model: self.model.clone(), freeform }
    }

    fn read(body: &Body, is_retry: bool) -> Result<Self, ApiError> {
        let members = standing::read(body.value(), "", standing::CHAT)?;
        let model = members.required_text("model")?.to_owned();
        let agent = body.agent(&model);
        let Messages { system, messages, hints } = messages::read(&members)?;
        let settings = settings(&members)?;
        let repeated = repeated(&members);
        let options = TurnOptions { model: agent.is_none().then(|| model.clone()), repeated, ..settings };
        let options = checked(options)?;
        let chat = Chat {
            agent: agent.map(str::to_owned),
            instructions: system.join("\n\n"),
            options,
            is_streamed: members.flag("stream")?.unwrap_or_default(),
            is_retry,
            messages,
            hints,
            name: None,
        };
        let include_usage = match members.get("stream_options") {
            None => false,
            Some(options) => {
                let options = standing::read(options, "stream_options", standing::CHAT)?;
                options.flag("include_usage")?.unwrap_or_default()
            }
        };
        Ok(Self { chat, include_usage, model, ignored: Ignored::default() })
    }
}

/// Returns the members that a response of the turn repeats, should it be read as one.
fn repeated(members: &Members<'_>) -> Value {
    let names = ["model", "metadata", "temperature", "top_p", "user", "parallel_tool_calls"];
    let pairs = names.iter().filter_map(|name| Some(((*name).to_owned(), members.get(name)?.clone())));
    Value::Object(pairs.collect::<Map<_, _>>())
}

fn settings(members: &Members<'_>) -> Result<TurnOptions, ApiError> {
    let tools = tools(members)?;
    let Choice { tools, named, is_required } = choice(members, tools)?;
    let word = |name: &str| Ok::<_, ApiError>(members.text(name)?.map(str::to_owned));
    let limit =
        if members.get("max_completion_tokens").is_some() { "max_completion_tokens" } else { "max_tokens" };
    let (text_format, json_object) = format(members)?.into_options();
    Ok(TurnOptions {
        model: None,
        tools,
        web_search: None,
        tool_choice: named,
        requires_tool: is_required,
        max_tool_calls: None,
        parallel_tool_calls: members.flag("parallel_tool_calls")?,
        temperature: members.number("temperature")?,
        top_p: members.number("top_p")?,
        max_output_tokens: members.count(limit)?,
        reasoning_effort: word("reasoning_effort")?,
        reasoning_summary: None,
        verbosity: word("verbosity")?,
        stop: stop(members)?,
        text_format,
        json_object,
        service_tier: word("service_tier")?,
        unstored: members.flag("store")? == Some(false),
        repeated: Value::Null,
    })
}

/// Reads `stop`: a text, or a list of texts.
fn stop(members: &Members<'_>) -> Result<Vec<String>, ApiError> {
    let rule = || members.rule("stop", "must be a string or an array of strings");
    match members.get("stop") {
        None => Ok(Vec::new()),
        Some(Value::String(stop)) => {
            Ok(Some(stop.clone()).filter(|stop| !stop.is_empty()).into_iter().collect())
        }
        Some(Value::Array(stops)) => {
            stops.iter().map(|stop| stop.as_str().map(str::to_owned).ok_or_else(rule)).collect()
        }
        Some(_) => Err(rule()),
    }
}

/// Reads the functions and the freeform tools.
fn tools(members: &Members<'_>) -> Result<Vec<FunctionTool>, ApiError> {
    let mut read = Vec::new();
    each_tool(members, |kind, tool, path| {
        let own = match kind {
            "function" | "custom" => Members::read(tool, path, &["type", kind])?,
            _ => return Ok(false),
        };
        let (tool, path) = (own.get(kind).ok_or_else(|| own.missing(kind))?, own.param(kind));
        read.push(match kind {
            "custom" => {
                let members = Members::read(tool, &path, &["name", "description", "format"])?;
                // The grammar is an object of its own here.
                let format = members.get("format").map(|format| match format.get("grammar") {
                    Some(Value::Object(grammar)) => {
                        let kind = [("type".to_owned(), json!("grammar"))];
                        Value::Object(kind.into_iter().chain(grammar.clone()).collect())
                    }
                    _ => format.clone(),
                });
                custom(&members, format.as_ref())?
            }
            _ => function(tool, &path, &["name", "description", "parameters", "strict"])?,
        });
        Ok(true)
    })?;
    Ok(read)
}

/// Reads the choice of a tool, which has the form of a response's after its nested objects are unfolded.
fn choice(members: &Members<'_>, tools: Vec<FunctionTool>) -> Result<Choice, ApiError> {
    let Some(choice) = members.get("tool_choice") else {
        return Ok(Choice { tools, named: None, is_required: false });
    };
    let name_of = |tool: &Value| {
        let own = tool.get("function").or_else(|| tool.get("custom"));
        own.and_then(|own| own.get("name").cloned())
    };
    let unfolded = match (name_of(choice), choice.get("allowed_tools")) {
        (Some(name), _) => json!({"type": "function", "name": name}),
        (None, Some(allowed)) => {
            let named = allowed.get("tools").and_then(Value::as_array).into_iter().flatten();
            let named: Vec<Value> =
                named.map(|tool| json!({"type": "function", "name": name_of(tool)})).collect();
            json!({"type": "allowed_tools", "mode": allowed.get("mode"), "tools": named})
        }
        (None, None) => choice.clone(),
    };
    tool_choice(members, &unfolded, tools)
}

fn format(members: &Members<'_>) -> Result<AnswerFormat, ApiError> {
    let Some(format) = members.get("response_format") else { return Ok(AnswerFormat::Text) };
    match format.get("type").and_then(Value::as_str) {
        Some("text") => Ok(AnswerFormat::Text),
        Some("json_object") => Ok(AnswerFormat::Object),
        Some("json_schema") => {
            let format = Members::read(format, "response_format", &["type", "json_schema"])?;
            let schema = format.get("json_schema").ok_or_else(|| format.missing("json_schema"))?;
            let path = format.param("json_schema");
            let schema = Members::read(schema, &path, &["name", "description", "schema", "strict"])?;
            json_format(&schema).map(AnswerFormat::Schema)
        }
        Some(_) | None => {
            Err(members.unsupported("response_format", "Use 'text', 'json_object' or 'json_schema'."))
        }
    }
}
