//! The settings of a response: tools, sampling and output format.

use contracts::request::{FunctionTool, JsonFormat, TurnOptions};
use serde_json::{Map, Value, json};

use super::{
    file_search::{FILE_SEARCH, FileSearch},
    members::Members,
    standing,
    tools::Tools,
};
use crate::error::ApiError;

/// The settings of a response.
pub(super) struct Settings {
    pub(super) options: TurnOptions,
    /// The search in vector stores.
    pub(super) file_search: Option<FileSearch>,
    /// The members that the response repeats in another form.
    pub(super) repeated: Map<String, Value>,
}

/// Reads the settings.
pub(super) fn read(members: &Members<'_>, searches_web: bool) -> Result<Settings, ApiError> {
    let mut repeated = Map::new();
    let Tools { tools, web_search, file_search, shown } = Tools::read(members, searches_web)?;
    repeated.insert("tools".to_owned(), Value::Array(shown));
    let Choice { tools, named, is_required } =
        choice(members, (tools, file_search.is_some()), &mut repeated)?;
    let (reasoning_effort, reasoning_summary) = reasoning(members, &mut repeated)?;
    let (format, verbosity) = text(members, &mut repeated)?;
    let (text_format, json_object) = format.into_options();
    let options = TurnOptions {
        model: None,
        tools,
        web_search,
        tool_choice: named,
        requires_tool: is_required,
        max_tool_calls: members.count("max_tool_calls")?,
        parallel_tool_calls: members.flag("parallel_tool_calls")?,
        temperature: members.number("temperature")?,
        top_p: members.number("top_p")?,
        max_output_tokens: members.count("max_output_tokens")?,
        reasoning_effort,
        reasoning_summary,
        verbosity,
        stop: Vec::new(),
        text_format,
        json_object,
        service_tier: members.text("service_tier")?.map(str::to_owned),
        unstored: false,
        repeated: Value::Null,
    };
    Ok(Settings { options, file_search, repeated })
}

/// The tools of a turn, and those that its first model call must call.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) tools: Vec<FunctionTool>,
    /// The tool to call.
    pub(crate) named: Option<String>,
    /// True if any tool must be called.
    pub(crate) is_required: bool,
}

/// Reads the choice of a tool.
fn choice(
    members: &Members<'_>,
    (tools, has_search): (Vec<FunctionTool>, bool),
    repeated: &mut Map<String, Value>,
) -> Result<Choice, ApiError> {
    let Some(choice) = members.get("tool_choice") else {
        return Ok(Choice { tools, named: None, is_required: false });
    };
    repeated.insert("tool_choice".to_owned(), choice.clone());
    // Every turn with the tool searches.
    if has_search && choice.get("type").is_some_and(|kind| kind == FILE_SEARCH) {
        return Ok(Choice { tools, named: None, is_required: false });
    }
    tool_choice(members, choice, tools)
}

/// Returns the tools that a choice offers, and those to call first.
pub(crate) fn tool_choice(
    members: &Members<'_>,
    choice: &Value,
    tools: Vec<FunctionTool>,
) -> Result<Choice, ApiError> {
    let rule = "must be 'auto', 'none', 'required', 'allowed_tools', a function or a custom tool";
    let kind = choice.as_str().or_else(|| choice.get("type")?.as_str());
    let none = |tools| Choice { tools, named: None, is_required: false };
    match (kind, choice.is_string()) {
        (Some("auto"), true) => Ok(none(tools)),
        (Some("none"), true) => Ok(none(Vec::new())),
        (Some("required"), true) => Ok(Choice { is_required: true, ..none(tools) }),
        (Some("function" | "custom"), false) => {
            let name = Members::read(choice, "tool_choice", &["type", "name"])?.required_text("name")?;
            let named = Some(offered(&tools, name, "tool_choice.name")?);
            Ok(Choice { named, ..none(tools) })
        }
        (Some("allowed_tools"), false) => {
            let allowed = Members::read(choice, "tool_choice", &["type", "mode", "tools"])?;
            let is_required = match allowed.text("mode")? {
                None | Some("auto") => false,
                Some("required") => true,
                Some(_) => return Err(allowed.rule("mode", "must be 'auto' or 'required'")),
            };
            let mut names = Vec::new();
            for (n, tool) in allowed.list("tools")?.iter().enumerate() {
                let path = format!("tool_choice.tools[{n}]");
                let name = Members::read(tool, &path, &["type", "name"])?.required_text("name")?;
                names.push(offered(&tools, name, &format!("{path}.name"))?);
            }
            let tools = tools.into_iter().filter(|tool| names.contains(&tool.name)).collect();
            Ok(Choice { is_required, ..none(tools) })
        }
        (_, true) => Err(members.rule("tool_choice", rule)),
        (_, false) => Err(members.unsupported("tool_choice", &format!("It {rule}."))),
    }
}

/// Returns the name of a tool that the request has.
fn offered(tools: &[FunctionTool], name: &str, param: &str) -> Result<String, ApiError> {
    let is_offered = tools.iter().any(|tool| tool.name == name);
    if is_offered { Ok(name.to_owned()) } else { Err(ApiError::value(param, "must name one of 'tools'")) }
}

/// Reads the effort, and the summary of the reasoning to stream.
fn reasoning(
    members: &Members<'_>,
    repeated: &mut Map<String, Value>,
) -> Result<(Option<String>, Option<String>), ApiError> {
    let Some(reasoning) = members.get("reasoning") else { return Ok((None, None)) };
    let reasoning = standing::read(reasoning, "reasoning", standing::RESPONSES)?;
    let effort = reasoning.text("effort")?.map(str::to_owned);
    // The older name comes second.
    let summary = reasoning.text("summary")?.or(reasoning.text("generate_summary")?).map(str::to_owned);
    repeated.insert("reasoning".to_owned(), json!({"effort": effort, "summary": summary}));
    Ok((effort, summary))
}

fn text(
    members: &Members<'_>,
    repeated: &mut Map<String, Value>,
) -> Result<(AnswerFormat, Option<String>), ApiError> {
    let Some(text) = members.get("text") else { return Ok((AnswerFormat::Text, None)) };
    let text = standing::read(text, "text", standing::RESPONSES)?;
    let verbosity = text.text("verbosity")?.map(str::to_owned);
    let format = text.get("format").map_or(Ok(AnswerFormat::Text), format)?;
    let shown = text.get("format").cloned().unwrap_or_else(|| json!({"type": "text"}));
    let mut text = json!({"format": shown});
    if let (Value::Object(text), Some(verbosity)) = (&mut text, &verbosity) {
        text.insert("verbosity".to_owned(), json!(verbosity));
    }
    repeated.insert("text".to_owned(), text);
    Ok((format, verbosity))
}

/// The format of an answer.
#[derive(Debug)]
pub(crate) enum AnswerFormat {
    /// Text.
    Text,
    /// JSON with a schema.
    Schema(JsonFormat),
    /// A JSON object of any form.
    Object,
}

impl AnswerFormat {
    /// Returns the options of a turn: its schema, and whether its answer is any JSON object.
    pub(crate) fn into_options(self) -> (Option<JsonFormat>, bool) {
        match self {
            Self::Text => (None, false),
            Self::Schema(schema) => (Some(schema), false),
            Self::Object => (None, true),
        }
    }
}

/// Reads `text.format`.
fn format(format: &Value) -> Result<AnswerFormat, ApiError> {
    let path = "text.format";
    match format.get("type").and_then(Value::as_str) {
        Some("text") => Members::read(format, path, &["type"]).map(|_| AnswerFormat::Text),
        Some("json_object") => Members::read(format, path, &["type"]).map(|_| AnswerFormat::Object),
        Some("json_schema") => {
            let members = Members::read(format, path, &["type", "name", "description", "schema", "strict"])?;
            json_format(&members).map(AnswerFormat::Schema)
        }
        Some(_) | None => {
            Err(ApiError::unsupported("text.format.type", "Use 'text', 'json_object' or 'json_schema'."))
        }
    }
}

/// Reads a schema with its name.
pub(crate) fn json_format(members: &Members<'_>) -> Result<JsonFormat, ApiError> {
    Ok(JsonFormat {
        name: members.required_text("name")?.to_owned(),
        description: members.text("description")?.map(str::to_owned),
        schema: members.get("schema").cloned().ok_or_else(|| members.missing("schema"))?,
        strict: members.flag("strict")?.unwrap_or_default(),
    })
}
