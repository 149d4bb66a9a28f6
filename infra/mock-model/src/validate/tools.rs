//! Tools and the choice among them.

use serde_json::{Map, Value};

use super::member::given;
use crate::refusal::Refusal;

/// Most tools of a request.
const MOST: usize = 128;

pub(super) fn check(body: &Map<String, Value>) -> Result<(), Refusal> {
    let tools = given(body, "tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if tools.len() > MOST {
        let message = format!("Invalid 'tools': expected at most {MOST} tools.");
        return Err(Refusal::invalid("array_above_max_length", "tools", message));
    }
    let mut names = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        let Some(tool) = tool.as_object().filter(|tool| is_of_caller(tool)) else {
            continue;
        };
        let at = format!("tools[{index}]");
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > 64 || !name.chars().all(allowed) {
            let message = format!("Invalid value: '{name}'.");
            return Err(Refusal::invalid("invalid_value", &format!("{at}.name"), message));
        }
        if let Some(schema) = given(tool, "parameters").and_then(Value::as_object) {
            let strict = tool.get("strict").and_then(Value::as_bool) == Some(true);
            check_schema(schema, strict, name, &format!("{at}.parameters"))?;
        }
        if names.contains(&name) {
            let message = format!("Tool names must be unique: '{name}' is there twice.");
            return Err(Refusal::invalid("invalid_value", &format!("{at}.name"), message));
        }
        names.push(name);
    }
    let choice =
        given(body, "tool_choice").filter(|choice| !["auto", "none"].iter().any(|free| *choice == free));
    if choice.is_some() && tools.is_empty() {
        let message = "Tool choice is only allowed when 'tools' are specified.";
        return Err(Refusal::invalid("invalid_value", "tool_choice", message));
    }
    let forced = given(body, "tool_choice").and_then(Value::as_object).filter(|choice| is_of_caller(choice));
    let forced = forced.and_then(|choice| choice.get("name")?.as_str());
    if forced.is_some_and(|forced| !names.contains(&forced)) {
        let message = "Tool choice 'function' not found in 'tools' parameter.";
        return Err(Refusal::invalid("invalid_value", "tool_choice", message));
    }
    Ok(())
}

/// True if the caller runs the tool: a function, or a freeform tool.
fn is_of_caller(object: &Map<String, Value>) -> bool {
    matches!(object.get("type").and_then(Value::as_str), Some("function" | "custom"))
}

/// Arguments are an object that says what is in it, of one kind. A strict schema lists every property as
/// required, allows no other, and knows few of JSON schema's words.
fn check_schema(schema: &Map<String, Value>, strict: bool, tool: &str, at: &str) -> Result<(), Refusal> {
    let refuse = |why: &str| {
        let message = format!("Invalid schema for function '{tool}': {why}.");
        Err(Refusal::invalid("invalid_function_parameters", at, message))
    };
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return refuse("the schema's type has to be object");
    }
    if !schema.contains_key("properties") {
        return refuse("object schema missing properties");
    }
    if ["oneOf", "anyOf", "allOf", "enum", "not"].iter().any(|keyword| schema.contains_key(*keyword)) {
        return refuse("the schema may not have oneOf, anyOf, allOf, enum or not at its top level");
    }
    if strict && !is_strict(schema) {
        return refuse(
            "a strict schema requires every property, allows no other, and combines by anyOf alone",
        );
    }
    Ok(())
}

fn is_strict(schema: &Map<String, Value>) -> bool {
    let unknown = ["oneOf", "allOf", "not", "if", "then", "else", "patternProperties"];
    if unknown.iter().any(|keyword| schema.contains_key(*keyword)) {
        return false;
    }
    let named =
        ["properties", "$defs", "definitions"].iter().filter_map(|keyword| schema.get(*keyword)?.as_object());
    let listed = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    let within = named.flat_map(Map::values).chain(listed).chain(schema.get("items"));
    if !within.filter_map(Value::as_object).all(is_strict) {
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
        && properties.is_none_or(|properties| properties.keys().all(requires))
}
