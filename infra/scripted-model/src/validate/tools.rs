//! Tools and the choice among them.

use serde_json::{Map, Value};

use super::{Checked, given, invalid_value, text, wrong_type};
use crate::refusal::Refusal;

pub(super) fn check(body: &Map<String, Value>) -> Checked {
    let tools = match given(body, "tools") {
        None => &[],
        Some(Value::Array(tools)) => tools.as_slice(),
        Some(_) => return Err(wrong_type("tools", "an array")),
    };
    let mut names = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        let at = format!("tools[{index}]");
        let Some(tool) = tool.as_object() else {
            return Err(wrong_type(&at, "an object"));
        };
        text(tool, "type", &at)?;
        if tool.get("type").and_then(Value::as_str) != Some("function") {
            continue;
        }
        text(tool, "name", &at)?;
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > 64 || !name.chars().all(allowed) {
            return Err(invalid_value(&format!("{at}.name"), name));
        }
        if let Some(schema) = given(tool, "parameters") {
            let strict = tool.get("strict").and_then(Value::as_bool) == Some(true);
            check_schema(schema, strict, name, &format!("{at}.parameters"))?;
        }
        names.push(name);
    }
    match given(body, "tool_choice") {
        None => Ok(()),
        Some(Value::String(choice)) => match choice.as_str() {
            "none" | "auto" | "required" => Ok(()),
            other => Err(invalid_value("tool_choice", other)),
        },
        Some(Value::Object(choice)) => match choice.get("type").and_then(Value::as_str) {
            Some("function") => {
                text(choice, "name", "tool_choice")?;
                let name = choice.get("name").and_then(Value::as_str);
                if name.is_some_and(|name| names.contains(&name)) {
                    return Ok(());
                }
                let message = "Tool choice 'function' not found in 'tools' parameter.";
                Err(Refusal::invalid("invalid_value", "tool_choice", message))
            }
            Some("allowed_tools" | "custom" | "mcp" | "file_search") => Ok(()),
            other => Err(invalid_value("tool_choice.type", other.unwrap_or_default())),
        },
        Some(_) => Err(wrong_type("tool_choice", "a string or an object")),
    }
}

/// Arguments are an object; a strict schema lists every property as required and allows no other.
fn check_schema(schema: &Value, strict: bool, tool: &str, at: &str) -> Checked {
    let refuse = |why: &str| {
        let message = format!("Invalid schema for function '{tool}': {why}.");
        Err(Refusal::invalid("invalid_function_parameters", at, message))
    };
    let Some(schema) = schema.as_object() else {
        return Err(wrong_type(at, "an object"));
    };
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return refuse("the schema's type has to be object");
    }
    if strict && !is_strict(schema) {
        return refuse("a strict schema requires every property and allows no other");
    }
    Ok(())
}

fn is_strict(schema: &Map<String, Value>) -> bool {
    let nested = |schema: &Value| schema.as_object().is_none_or(is_strict);
    if let Some(items) = schema.get("items")
        && !nested(items)
    {
        return false;
    }
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return true;
    }
    let required = schema.get("required").and_then(Value::as_array);
    let requires =
        |name: &String| required.is_some_and(|required| required.iter().any(|it| it.as_str() == Some(name)));
    let properties = schema.get("properties").and_then(Value::as_object);
    schema.get("additionalProperties") == Some(&Value::Bool(false))
        && properties
            .is_none_or(|properties| properties.iter().all(|(name, schema)| requires(name) && nested(schema)))
}
