//! The refusals of the published API that do not depend on the chain: shapes, part types, tools.

mod tools;

use serde_json::{Map, Value};

use crate::refusal::Refusal;

const PARAMETERS: [&str; 28] = [
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
    "parallel_tool_calls",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
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
];

const INPUT_PARTS: &[&str] = &["input_text", "input_image", "input_file"];
const OUTPUT_PARTS: &[&str] = &["output_text", "refusal"];

type Checked = Result<(), Refusal>;

/// Refuses what the API would refuse in this body.
pub(crate) fn check(body: &Map<String, Value>) -> Checked {
    for name in body.keys() {
        if !PARAMETERS.contains(&name.as_str()) && name != "user" {
            let message = format!("Unknown parameter: '{name}'.");
            return Err(Refusal::invalid("unknown_parameter", name, message));
        }
    }
    check_model(body)?;
    check_numbers(body)?;
    for name in ["stream", "store", "parallel_tool_calls", "background"] {
        if given(body, name).is_some_and(|value| !value.is_boolean()) {
            return Err(wrong_type(name, "a boolean"));
        }
    }
    match given(body, "input") {
        None => return Err(missing("input")),
        Some(Value::String(_)) => {}
        Some(Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                check_item(item, &format!("input[{index}]"))?;
            }
        }
        Some(_) => return Err(wrong_type("input", "a string or an array")),
    }
    tools::check(body)
}

fn check_model(body: &Map<String, Value>) -> Checked {
    match given(body, "model") {
        None => Err(missing("model")),
        Some(Value::String(model)) if model.is_empty() => Err(missing("model")),
        Some(Value::String(model)) if model.starts_with("missing-") => Err(Refusal {
            status: 404,
            code: Some("model_not_found".into()),
            param: None,
            ..Refusal::invalid("", "", format!("The model '{model}' does not exist."))
        }),
        Some(Value::String(_)) => Ok(()),
        Some(_) => Err(wrong_type("model", "a string")),
    }
}

fn check_numbers(body: &Map<String, Value>) -> Checked {
    for (name, most) in [("temperature", 2.0), ("top_p", 1.0)] {
        match given(body, name).map(Value::as_f64) {
            None => {}
            Some(Some(number)) if (0.0..=most).contains(&number) => {}
            Some(Some(_)) => {
                let message = format!("Invalid '{name}': expected a number from 0 to {most}.");
                return Err(Refusal::invalid("decimal_out_of_range", name, message));
            }
            Some(None) => return Err(wrong_type(name, "a decimal")),
        }
    }
    let name = "max_output_tokens";
    match given(body, name).map(Value::as_u64) {
        None => Ok(()),
        Some(Some(tokens)) if tokens >= 16 => Ok(()),
        Some(Some(_)) => {
            let message = format!("Invalid '{name}': expected a value of 16 or more.");
            Err(Refusal::invalid("integer_below_min_value", name, message))
        }
        Some(None) => Err(wrong_type(name, "an integer")),
    }
}

fn check_item(item: &Value, at: &str) -> Checked {
    let Some(item) = item.as_object() else {
        return Err(wrong_type(at, "an object"));
    };
    match item.get("type").map_or(Some("message"), Value::as_str) {
        Some("message") => check_message(item, at),
        Some("function_call_output") => {
            text(item, "call_id", at)?;
            match item.get("output") {
                Some(Value::String(_)) => Ok(()),
                Some(Value::Array(parts)) => check_parts(parts, INPUT_PARTS, at, "output"),
                Some(_) => Err(wrong_type(&format!("{at}.output"), "a string or an array")),
                None => Err(missing(&format!("{at}.output"))),
            }
        }
        Some("function_call") => {
            text(item, "call_id", at)?;
            text(item, "name", at)?;
            text(item, "arguments", at)
        }
        Some("reasoning" | "item_reference") => Ok(()),
        Some(other) => Err(invalid_value(&format!("{at}.type"), other)),
        None => Err(wrong_type(&format!("{at}.type"), "a string")),
    }
}

fn check_message(item: &Map<String, Value>, at: &str) -> Checked {
    let parts = match item.get("role").and_then(Value::as_str) {
        Some("user" | "system" | "developer") => INPUT_PARTS,
        Some("assistant") => OUTPUT_PARTS,
        Some(other) => return Err(invalid_value(&format!("{at}.role"), other)),
        None => return Err(missing(&format!("{at}.role"))),
    };
    match item.get("content") {
        Some(Value::String(_)) => Ok(()),
        Some(Value::Array(content)) => check_parts(content, parts, at, "content"),
        Some(_) => Err(wrong_type(&format!("{at}.content"), "a string or an array")),
        None => Err(missing(&format!("{at}.content"))),
    }
}

fn check_parts(content: &[Value], known: &[&str], at: &str, member: &str) -> Checked {
    for (index, part) in content.iter().enumerate() {
        let at = format!("{at}.{member}[{index}]");
        let Some(part) = part.as_object() else {
            return Err(wrong_type(&at, "an object"));
        };
        let Some(kind) = part.get("type").and_then(Value::as_str) else {
            return Err(missing(&format!("{at}.type")));
        };
        if !known.contains(&kind) {
            return Err(Refusal::invalid(
                "invalid_value",
                &at,
                format!("Invalid value: '{kind}'. Supported values are: '{}'.", known.join("', '")),
            ));
        }
        let needed = match kind {
            "input_text" | "output_text" => "text",
            "refusal" => "refusal",
            _ => continue,
        };
        text(part, needed, &at)?;
    }
    Ok(())
}

fn given<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    object.get(name).filter(|value| !value.is_null())
}

fn text(object: &Map<String, Value>, name: &str, at: &str) -> Checked {
    match object.get(name) {
        Some(Value::String(_)) => Ok(()),
        Some(_) => Err(wrong_type(&format!("{at}.{name}"), "a string")),
        None => Err(missing(&format!("{at}.{name}"))),
    }
}

fn missing(param: &str) -> Refusal {
    let message = format!("Missing required parameter: '{param}'.");
    Refusal::invalid("missing_required_parameter", param, message)
}

fn wrong_type(param: &str, expected: &str) -> Refusal {
    let message = format!("Invalid type for '{param}': expected {expected}.");
    Refusal::invalid("invalid_type", param, message)
}

fn invalid_value(param: &str, value: &str) -> Refusal {
    let message = format!("Invalid value: '{value}'.");
    Refusal::invalid("invalid_value", param, message)
}
