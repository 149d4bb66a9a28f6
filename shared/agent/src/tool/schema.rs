//! Compiled JSON schemas of tool arguments.
//!
//! Built on `jsonschema`: MIT, maintained, all drafts, tested against the official suite. Its default features (a
//! resolver over HTTP, one over files, and a TLS stack) are off, so a `$ref` that leaves the schema is a fault at
//! start-up and never a request. The cost is 3 MB of a function's binary, and about two milliseconds to compile the
//! meta-schema when the first schema is compiled. A validator written here for the few keywords in use would avoid
//! both, but contexts bring their own schemas.

use std::fmt;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use crate::text::truncate;

/// The maximum number of violations in one message.
const MAX_REPORTED: usize = 8;

/// The maximum length of one violation: its location has member names that the model chose.
const MAX_VIOLATION_BYTES: usize = 240;

/// A compiled schema.
pub(super) struct Schema(Validator);

impl Schema {
    /// Compiles a schema, after validating it against the meta-schema.
    ///
    /// # Errors
    /// Returns a text with the location and the reason if it isn't a JSON schema or refers to something outside
    /// itself.
    pub(super) fn compile(schema: &Value) -> Result<Self, String> {
        jsonschema::options()
            // This engine matches in linear time, so no pattern can run for minutes.
            .with_pattern_options(PatternOptions::regex())
            .build(schema)
            .map(Self)
            .map_err(|error| format!("at `{}`: {}", error.instance_path(), truncate(error.to_string(), 500)))
    }

    /// Validates a value.
    ///
    /// # Errors
    /// Returns the violations, bounded in number and length.
    pub(super) fn check(&self, value: &Value) -> Result<(), SchemaViolations> {
        let violations: Vec<String> = self
            .0
            .iter_errors(value)
            .take(MAX_REPORTED)
            .map(|error| {
                // Masked, since a value may be a whole file.
                let message = format!("`{}`: {}", error.instance_path(), error.masked());
                truncate(message, MAX_VIOLATION_BYTES)
            })
            .collect();
        if violations.is_empty() { Ok(()) } else { Err(SchemaViolations(violations)) }
    }
}

/// Returns true if the text is JSON that matches the schema.
#[must_use]
pub fn matches_schema(schema: &Value, text: &str) -> bool {
    let value = serde_json::from_str(text);
    value.is_ok_and(|value| Schema::compile(schema).is_ok_and(|schema| schema.check(&value).is_ok()))
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Schema")
    }
}

/// Violations of a schema, each with its location, a JSON pointer, and the rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SchemaViolations(Vec<String>);

impl fmt::Display for SchemaViolations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn violation_names_location_and_rule_but_not_the_value() {
        let schema = Schema::compile(&json!({
            "type": "object",
            "properties": { "mode": { "type": "string" }, "how": { "enum": ["a", "b"] } },
            "required": ["mode"],
            "additionalProperties": false,
        }))
        .unwrap();
        assert_eq!(schema.check(&json!({ "mode": "x" })), Ok(()));
        let message = |value| schema.check(&value).unwrap_err().to_string();
        assert_eq!(message(json!({})), "``: \"mode\" is a required property");
        let wrong = message(json!({ "mode": [12345], "how": "secret", "z": 1 }));
        assert!(wrong.contains("`/mode`: value is not of type \"string\""), "{wrong}");
        assert!(wrong.contains("`/how`") && wrong.contains("'z' was unexpected"), "{wrong}");
        assert!(!wrong.contains("12345") && !wrong.contains("secret"), "{wrong}");
    }

    #[test]
    fn violations_are_bounded() {
        let schema = Schema::compile(&json!({ "additionalProperties": { "type": "string" } })).unwrap();
        let many: Value = (0..1000)
            .map(|n| (format!("{n}{}", "x".repeat(1000)), json!(n)))
            .collect::<serde_json::Map<_, _>>()
            .into();
        let message = schema.check(&many).unwrap_err().to_string();
        assert!(message.len() <= MAX_REPORTED * (MAX_VIOLATION_BYTES + 45), "{}", message.len());
    }

    #[test]
    fn invalid_or_external_schema_is_rejected() {
        for wrong in [
            json!({ "type": "objekt" }),
            json!({ "$ref": "http://localhost/x.json" }),
            json!({ "$ref": "file:///etc/hostname" }),
            json!({ "$ref": "#/$defs/none" }),
            json!({ "pattern": "(?=lookahead)" }),
            json!(7),
        ] {
            assert!(Schema::compile(&wrong).is_err(), "{wrong}");
        }
    }
}
