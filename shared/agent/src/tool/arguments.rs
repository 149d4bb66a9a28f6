//! A call's arguments, from the model's text to a value that fits the schema.
//!
//! A tool never sees anything else. What does not fit becomes a failed result that says what was wrong,
//! so that the model can call again; the turn goes on.

use serde_json::{Map, Value};

use super::schema::{Misfits, Schema};

/// Why arguments did not reach the tool.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unfit {
    /// More text than a tool may get.
    #[error("The arguments are too long: at most {0} bytes are taken.")]
    TooLong(usize),
    /// Not JSON at all. The parser's words name a line and a column, never the text.
    #[error("The arguments are not a JSON text: {0}. Call the tool again with valid JSON.")]
    NotJson(String),
    /// Not what the schema asks for.
    #[error("The arguments do not fit the tool's schema: {0}. Correct them and call the tool again.")]
    Misfits(Misfits),
}

/// Reads a call's arguments. No text at all is an empty object: so some models spell a call without any.
///
/// # Errors
/// When the text is too long, no JSON, or does not fit.
pub(super) fn read(text: &str, schema: &Schema, max_bytes: usize) -> Result<Value, Unfit> {
    if text.len() > max_bytes {
        return Err(Unfit::TooLong(max_bytes));
    }
    let value = if text.trim().is_empty() {
        Value::Object(Map::new())
    } else {
        serde_json::from_str(text).map_err(|error| Unfit::NotJson(error.to_string()))?
    };
    schema.check(&value).map_err(Unfit::Misfits)?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<Value, String> {
        let schema =
            Schema::compile(&json!({ "type": "object", "properties": { "a": { "type": "integer" } } }));
        super::read(text, &schema.unwrap(), 100).map_err(|unfit| unfit.to_string())
    }

    #[test]
    fn no_text_is_an_empty_object() {
        assert_eq!(read(""), Ok(json!({})));
        assert_eq!(read(" \n"), Ok(json!({})));
        assert_eq!(read(r#"{"a":1}"#), Ok(json!({ "a": 1 })));
    }

    #[test]
    fn the_model_is_told_what_was_wrong() {
        assert!(read("{").unwrap_err().contains("not a JSON text: EOF"));
        assert!(read(r#"{"a":1} x"#).unwrap_err().contains("trailing characters"));
        assert!(read("[]").unwrap_err().contains("``: value is not of type \"object\""));
        assert!(read(r#"{"a":"x"}"#).unwrap_err().contains("`/a`: value is not of type \"integer\""));
        assert!(read(&" ".repeat(101)).unwrap_err().contains("at most 100 bytes"));
        assert!(read(&"[".repeat(100)).is_err());
    }
}
