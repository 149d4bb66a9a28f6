//! The settings of a message: tools, sampling, effort and output format.

use agent::context::check_options;
use contracts::request::{FunctionTool, JsonFormat, TurnOptions};
use fronts::MemberError;
use serde_json::{Map, Value, json};

use super::Members;
use crate::error::ApiError;

/// The edit of a context that removes thinking, which the service doesn't send again anyway.
const CLEAR_THINKING: &str = "clear_thinking_20251015";
/// The most texts that may end an answer.
const MAX_STOPS: usize = 16;
/// The longest text that may end an answer, in bytes.
const MAX_STOP_BYTES: usize = 256;
/// The longest `metadata.user_id`, in characters.
const MAX_USER_CHARS: usize = 512;
/// The name of an output format for the model. This API's formats have none.
const FORMAT_NAME: &str = "answer";

/// Reads the settings. `model` is the model, unless the request names an agent.
pub(super) fn read(members: &Members<'_>, model: Option<&str>) -> Result<TurnOptions, ApiError> {
    let shows_thinking = thinking(members)?;
    check_context_management(members)?;
    if !members.list("mcp_servers")?.is_empty() {
        return Err(ApiError::not_permitted("mcp_servers"));
    }
    let tools = members.list("tools")?.iter().enumerate();
    let tools = tools.map(|(n, value)| tool(value, &format!("tools.{n}"))).collect::<Result<Vec<_>, _>>()?;
    let Choice { tools, named, is_required, parallel_tool_calls } = choice(members, tools)?;
    let (reasoning_effort, text_format) = output_config(members)?;
    let options = TurnOptions {
        model: model.map(str::to_owned),
        tools,
        tool_choice: named,
        requires_tool: is_required,
        parallel_tool_calls,
        temperature: members.number("temperature")?,
        top_p: members.number("top_p")?,
        max_output_tokens: members.count("max_tokens")?,
        reasoning_effort,
        reasoning_summary: shows_thinking.then(|| "auto".to_owned()),
        text_format,
        repeated: repeated(members)?,
        ..TurnOptions::default()
    };
    check_options(&options).map_err(|faults| {
        let fault = faults.as_slice().first();
        fault.map_or_else(
            || ApiError::invalid("The request is invalid"),
            |fault| ApiError::member(&member(&fault.path), &fault.message),
        )
    })?;
    Ok(options)
}

/// Reads `stop_sequences`.
pub(super) fn stops(members: &Members<'_>) -> Result<Vec<String>, ApiError> {
    let stops = members.list("stop_sequences")?.iter().map(Value::as_str);
    let stops: Option<Vec<&str>> = stops.collect();
    let stops = stops.ok_or_else(|| members.rule("stop_sequences", "Input should be valid strings"))?;
    if stops.len() > MAX_STOPS || stops.iter().any(|stop| stop.len() > MAX_STOP_BYTES) {
        let rule = "at most 16 stop sequences of 256 bytes are supported";
        return Err(members.rule("stop_sequences", rule));
    }
    if stops.iter().any(|stop| stop.trim().is_empty()) {
        let rule = "each stop sequence must contain non-whitespace";
        return Err(members.rule("stop_sequences", rule));
    }
    Ok(stops.into_iter().map(str::to_owned).collect())
}

/// Returns this API's name of a setting.
fn member(path: &str) -> String {
    match path {
        "max_output_tokens" => "max_tokens".to_owned(),
        "reasoning.effort" => "output_config.effort".to_owned(),
        "text.format.schema" => "output_config.format.schema".to_owned(),
        other => other.replace('[', ".").replace(']', ""),
    }
}

/// Returns the members that a response of the turn repeats, should it be read over OpenAI's API.
fn repeated(members: &Members<'_>) -> Result<Value, ApiError> {
    let mut repeated = Map::new();
    repeated.extend(members.get("model").map(|model| ("model".to_owned(), model.clone())));
    if let Some(metadata) = members.object("metadata")? {
        metadata.only(&["user_id"])?;
        if let Some(user) = metadata.text("user_id")? {
            if user.chars().nth(MAX_USER_CHARS).is_some() {
                return Err(metadata.rule("user_id", "String should have at most 512 characters"));
            }
            repeated.insert("user".to_owned(), json!(user));
        }
    }
    Ok(Value::Object(repeated))
}

/// Reads `thinking`: true if the client wants to see the reasoning. Otherwise it is a hint: the agent's model decides if it
/// reasons, and `output_config.effort` sets how much.
fn thinking(members: &Members<'_>) -> Result<bool, ApiError> {
    let Some(thinking) = members.object("thinking")? else { return Ok(false) };
    let kind = thinking.required_text("type")?;
    match kind {
        "enabled" => {
            thinking.only(&["type", "budget_tokens", "display"])?;
            thinking
                .count("budget_tokens")?
                .ok_or_else(|| thinking.rule("budget_tokens", "Field required"))?;
        }
        "adaptive" | "between_tools" => thinking.only(&["type", "display"])?,
        "disabled" => thinking.only(&["type"])?,
        _ => {
            let rule = "Input should be 'adaptive', 'enabled', 'between_tools' or 'disabled'";
            return Err(thinking.rule("type", rule));
        }
    }
    match thinking.text("display")? {
        None => Ok(kind == "enabled"),
        Some("summarized") => Ok(true),
        Some("omitted") => Ok(false),
        Some(_) => Err(thinking.rule("display", "Input should be 'summarized' or 'omitted'")),
    }
}

/// Refuses edits of the context other than those that remove thinking. A client that gets these words sends none.
fn check_context_management(members: &Members<'_>) -> Result<(), ApiError> {
    let Some(management) = members.object("context_management")? else { return Ok(()) };
    management.only(&["edits"])?;
    let is_hint = |edit: &Value| edit.get("type").is_some_and(|kind| kind == CLEAR_THINKING);
    if management.list("edits")?.iter().all(is_hint) {
        Ok(())
    } else {
        Err(ApiError::not_permitted("context_management"))
    }
}

/// Reads a tool that the client runs. Members about its loading and its examples are hints.
fn tool(value: &Value, path: &str) -> Result<FunctionTool, ApiError> {
    let tool = Members::read(value, path)?;
    if let Some(kind) = tool.text("type")?.filter(|kind| *kind != "custom") {
        let rule = format!("tools of type '{kind}' come with the agent; send tools of type 'custom'");
        return Err(tool.rule("type", &rule));
    }
    let callers = tool.list("allowed_callers")?;
    if !callers.is_empty() && callers.iter().all(|caller| caller != "direct") {
        return Err(tool.rule("allowed_callers", "must include 'direct'"));
    }
    let name = tool.required_text("name")?.to_owned();
    let description = tool.text("description")?.filter(|text| !text.trim().is_empty());
    Ok(FunctionTool {
        // A model can't choose a tool without a description.
        description: description.unwrap_or(&name).to_owned(),
        parameters: tool.required("input_schema")?.clone(),
        strict: tool.flag("strict")?.unwrap_or_default(),
        name,
        format: None,
    })
}

/// The tools to offer, and how to call them.
struct Choice {
    tools: Vec<FunctionTool>,
    named: Option<String>,
    is_required: bool,
    parallel_tool_calls: Option<bool>,
}

fn choice(members: &Members<'_>, tools: Vec<FunctionTool>) -> Result<Choice, ApiError> {
    let Some(choice) = members.object("tool_choice")? else {
        return Ok(Choice { tools, named: None, is_required: false, parallel_tool_calls: None });
    };
    choice.only(&["type", "name", "disable_parallel_tool_use"])?;
    let is_single = choice.flag("disable_parallel_tool_use")?.unwrap_or_default();
    let parallel_tool_calls = is_single.then_some(false);
    let with = |tools, named| Choice { tools, named, is_required: false, parallel_tool_calls };
    match choice.required_text("type")? {
        "auto" => Ok(with(tools, None)),
        "none" => Ok(with(Vec::new(), None)),
        "any" if tools.is_empty() => Err(choice.rule("type", "'any' needs tools")),
        "any" => Ok(Choice { is_required: true, ..with(tools, None) }),
        "tool" => {
            let name = choice.required_text("name")?;
            if tools.iter().all(|tool| tool.name != name) {
                return Err(ApiError::member(
                    "tool_choice",
                    &format!("Tool '{name}' not found in provided tools"),
                ));
            }
            Ok(with(tools, Some(name.to_owned())))
        }
        _ => Err(choice.rule("type", "Input should be 'auto', 'any', 'tool' or 'none'")),
    }
}

/// Reads the effort and the format of the answer.
fn output_config(members: &Members<'_>) -> Result<(Option<String>, Option<JsonFormat>), ApiError> {
    let Some(config) = members.object("output_config")? else { return Ok((None, None)) };
    config.only(&["effort", "format"])?;
    let effort = config.text("effort")?.map(str::to_owned);
    let Some(format) = config.object("format")? else { return Ok((effort, None)) };
    format.only(&["type", "schema"])?;
    if format.required_text("type")? != "json_schema" {
        return Err(format.rule("type", "Input should be 'json_schema'"));
    }
    let schema = format.required("schema")?.clone();
    let format = JsonFormat { name: FORMAT_NAME.to_owned(), description: None, schema, strict: true };
    Ok((effort, Some(format)))
}
