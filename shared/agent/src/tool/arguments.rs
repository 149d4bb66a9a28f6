//! Parses a call's arguments from the model's text into a value that matches the schema.
//!
//! A tool never sees anything else. Arguments that don't match become a failed result that names the fault, so that
//! the model can call again, and the turn continues.

use serde_json::{Map, Value};

use super::{
    Limits,
    schema::{Schema, SchemaViolations},
};

/// The reason arguments didn't reach the tool. The texts are for the model.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ArgumentError {
    /// The text exceeds the limit, in bytes.
    #[error("The arguments are too long: at most {0} bytes are taken.")]
    TooLong(usize),
    /// Not JSON. The parser's message names a line and a column, never the text.
    #[error("The arguments are not a JSON text: {0}. Call the tool again with valid JSON.")]
    NotJson(String),
    /// The value doesn't match the schema.
    #[error("The arguments do not fit the tool's schema: {0}. Correct them and call the tool again.")]
    SchemaViolations(SchemaViolations),
}

/// Parses a call's arguments. Empty text counts as an empty object, since some models send a call without arguments
/// that way.
///
/// # Errors
/// Returns [`ArgumentError`] if the text is too long, isn't JSON, or doesn't match the schema.
pub(super) fn parse(text: &str, schema: &Schema, max_bytes: usize) -> Result<Value, ArgumentError> {
    if text.len() > max_bytes {
        return Err(ArgumentError::TooLong(max_bytes));
    }
    let value = if text.trim().is_empty() {
        Value::Object(Map::new())
    } else {
        serde_json::from_str(text).map_err(|error| ArgumentError::NotJson(error.to_string()))?
    };
    schema.check(&value).map_err(ArgumentError::SchemaViolations)?;
    Ok(value)
}

/// Parses the arguments of a call of a tool with this schema, for a call outside a turn.
///
/// # Errors
/// Returns the fault, worded for a model.
pub fn parse_arguments(text: &str, schema: &Value, limits: &Limits) -> Result<Value, String> {
    let schema = Schema::compile(schema)?;
    parse(text, &schema, limits.argument_bytes).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(text: &str) -> Result<Value, String> {
        let schema =
            Schema::compile(&json!({ "type": "object", "properties": { "a": { "type": "integer" } } }));
        super::parse(text, &schema.unwrap(), 100).map_err(|error| error.to_string())
    }

    #[test]
    fn empty_text_is_an_empty_object() {
        assert_eq!(parse(""), Ok(json!({})));
        assert_eq!(parse(" \n"), Ok(json!({})));
        assert_eq!(parse(r#"{"a":1}"#), Ok(json!({ "a": 1 })));
    }

    #[test]
    fn errors_name_the_fault() {
        assert!(parse("{").unwrap_err().contains("not a JSON text: EOF"));
        assert!(parse(r#"{"a":1} x"#).unwrap_err().contains("trailing characters"));
        assert!(parse("[]").unwrap_err().contains("``: value is not of type \"object\""));
        assert!(parse(r#"{"a":"x"}"#).unwrap_err().contains("`/a`: value is not of type \"integer\""));
        assert!(parse(&" ".repeat(101)).unwrap_err().contains("at most 100 bytes"));
        assert!(parse(&"[".repeat(100)).is_err());
    }
}
