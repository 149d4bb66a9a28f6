//! The settings of a response: tools, sampling and output format.

use contracts::request::{FunctionTool, JsonFormat, TurnOptions};
use serde_json::{Map, Value, json};

use super::members::Members;
use crate::error::ApiError;

/// Reads the settings, and the members that the response repeats in another form.
pub(super) fn read(members: &Members<'_>) -> Result<(TurnOptions, Map<String, Value>), ApiError> {
    let mut repeated = Map::new();
    let tools = members.list("tools")?.iter().enumerate();
    let tools =
        tools.map(|(n, tool)| of_kind(tool, &format!("tools[{n}]"))).collect::<Result<Vec<_>, _>>()?;
    let shown: Vec<Value> = tools.iter().map(shown).collect();
    repeated.insert("tools".to_owned(), Value::Array(shown));
    let (tools, tool_choice) = choice(members, tools, &mut repeated)?;
    let effort = effort(members, &mut repeated)?;
    let (text_format, verbosity) = text(members, &mut repeated)?;
    let options = TurnOptions {
        model: None,
        tools,
        tool_choice,
        parallel_tool_calls: members.flag("parallel_tool_calls")?,
        temperature: members.number("temperature")?,
        top_p: members.number("top_p")?,
        max_output_tokens: members.count("max_output_tokens")?,
        reasoning_effort: effort,
        verbosity,
        text_format,
        service_tier: members.text("service_tier")?.map(str::to_owned),
        repeated: Value::Null,
    };
    Ok((options, repeated))
}

/// Reads a tool, which must be a function.
fn of_kind(tool: &Value, path: &str) -> Result<FunctionTool, ApiError> {
    let kind = tool.get("type").and_then(Value::as_str).unwrap_or_default();
    if kind != "function" {
        let alternative =
            format!("'{kind}' tools come with the agent's context; send tools of type 'function'.");
        return Err(ApiError::unsupported(&format!("{path}.type"), &alternative));
    }
    function(tool, path, &["type", "name", "description", "parameters", "strict"])
}

/// Reads a function, which may have these members.
pub(crate) fn function(function: &Value, path: &str, known: &[&str]) -> Result<FunctionTool, ApiError> {
    let members = Members::read(function, path, known)?;
    let name = members.required_text("name")?.to_owned();
    let description = members.text("description")?.filter(|text| !text.trim().is_empty());
    let no_arguments = json!({"type": "object", "properties": {}, "additionalProperties": false});
    Ok(FunctionTool {
        // A model can't choose a tool without a description.
        description: description.unwrap_or(&name).to_owned(),
        parameters: members.get("parameters").cloned().unwrap_or(no_arguments),
        strict: members.flag("strict")?.unwrap_or_default(),
        name,
    })
}

/// Returns a tool as a response shows it.
fn shown(tool: &FunctionTool) -> Value {
    let FunctionTool { name, description, parameters, strict } = tool;
    json!({"type": "function", "name": name, "description": description, "parameters": parameters, "strict": strict})
}

/// Reads the choice of a tool. Returns the tools to offer, and the one to call first.
fn choice(
    members: &Members<'_>,
    tools: Vec<FunctionTool>,
    repeated: &mut Map<String, Value>,
) -> Result<(Vec<FunctionTool>, Option<String>), ApiError> {
    let Some(choice) = members.get("tool_choice") else { return Ok((tools, None)) };
    repeated.insert("tool_choice".to_owned(), choice.clone());
    tool_choice(members, choice, tools)
}

/// Returns the tools that a choice offers, and the one to call first.
pub(crate) fn tool_choice(
    members: &Members<'_>,
    choice: &Value,
    tools: Vec<FunctionTool>,
) -> Result<(Vec<FunctionTool>, Option<String>), ApiError> {
    match choice.as_str() {
        Some("auto") => return Ok((tools, None)),
        Some("none") => return Ok((Vec::new(), None)),
        Some("required") => {
            return match tools.as_slice() {
                [only] => {
                    let name = only.name.clone();
                    Ok((tools, Some(name)))
                }
                _ => {
                    let alternative =
                        "With several tools, name the one to call: {\"type\":\"function\",\"name\":…}.";
                    Err(members.unsupported("tool_choice", alternative))
                }
            };
        }
        Some(_) => {
            return Err(members.rule("tool_choice", "must be 'auto', 'none', 'required' or a function"));
        }
        None => {}
    }
    if choice.get("type").and_then(Value::as_str) != Some("function") {
        return Err(members.unsupported("tool_choice", "Use 'auto', 'none', 'required' or a function."));
    }
    let named = Members::read(choice, "tool_choice", &["type", "name"])?;
    let name = named.required_text("name")?;
    if tools.iter().all(|tool| tool.name != name) {
        return Err(members.rule("tool_choice", "must name one of 'tools'"));
    }
    Ok((tools, Some(name.to_owned())))
}

fn effort(members: &Members<'_>, repeated: &mut Map<String, Value>) -> Result<Option<String>, ApiError> {
    let Some(reasoning) = members.get("reasoning") else { return Ok(None) };
    let reasoning = Members::read(reasoning, "reasoning", &["effort", "summary", "generate_summary"])?;
    for name in ["summary", "generate_summary"] {
        if reasoning.get(name).is_some() {
            return Err(reasoning.unsupported(name, "Reasoning isn't shown."));
        }
    }
    let effort = reasoning.text("effort")?.map(str::to_owned);
    repeated.insert("reasoning".to_owned(), json!({"effort": effort, "summary": null}));
    Ok(effort)
}

fn text(
    members: &Members<'_>,
    repeated: &mut Map<String, Value>,
) -> Result<(Option<JsonFormat>, Option<String>), ApiError> {
    let Some(text) = members.get("text") else { return Ok((None, None)) };
    let text = Members::read(text, "text", &["format", "verbosity"])?;
    let verbosity = text.text("verbosity")?.map(str::to_owned);
    let format = text.get("format").map_or(Ok(None), format)?;
    let shown = text.get("format").cloned().unwrap_or_else(|| json!({"type": "text"}));
    let mut text = json!({"format": shown});
    if let (Value::Object(text), Some(verbosity)) = (&mut text, &verbosity) {
        text.insert("verbosity".to_owned(), json!(verbosity));
    }
    repeated.insert("text".to_owned(), text);
    Ok((format, verbosity))
}

/// Reads `text.format`, or `None` if it is plain text.
fn format(format: &Value) -> Result<Option<JsonFormat>, ApiError> {
    let path = "text.format";
    match format.get("type").and_then(Value::as_str) {
        Some("text") => Members::read(format, path, &["type"]).map(|_| None),
        Some("json_schema") => {
            let members = Members::read(format, path, &["type", "name", "description", "schema", "strict"])?;
            Ok(Some(JsonFormat {
                name: members.required_text("name")?.to_owned(),
                description: members.text("description")?.map(str::to_owned),
                schema: members.get("schema").cloned().ok_or_else(|| members.missing("schema"))?,
                strict: members.flag("strict")?.unwrap_or_default(),
            }))
        }
        Some(_) | None => Err(ApiError::unsupported("text.format.type", "Use 'text' or 'json_schema'.")),
    }
}
