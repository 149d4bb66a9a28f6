//! The JSON schema of a tool's arguments, compiled.
//!
//! Built on `jsonschema`: MIT, maintained, all drafts, tested against the official suite. It is taken
//! without its default features, which are a resolver over HTTP, one over files, and a TLS stack: a
//! `$ref` that leaves the schema is a fault at start-up and never a request. The price is 3 MB of a
//! function's binary and, for the schema of schemas, about two milliseconds once, when the first schema is compiled. A validator
//! written here for the few keywords in use would cost neither, but contexts bring schemas of their own.

use std::fmt;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use crate::text::cut;

/// How many misfits one message names.
const MAX_REPORTED: usize = 8;

/// How long one misfit's place and rule may be, in characters: names of members are the model's own.
const MAX_MISFIT_BYTES: usize = 240;

/// A schema that values are held to.
pub(super) struct Schema(Validator);

impl Schema {
    /// Compiles a schema, after holding it to the schema of schemas.
    ///
    /// # Errors
    /// When it is no JSON schema, or refers to something outside itself. The text says where and why.
    pub(super) fn compile(schema: &Value) -> Result<Self, String> {
        jsonschema::options()
            // Matching takes linear time, so no pattern can be made to run for minutes.
            .with_pattern_options(PatternOptions::regex())
            .build(schema)
            .map(Self)
            .map_err(|error| format!("at `{}`: {}", error.instance_path(), cut(error.to_string(), 500)))
    }

    /// Whether a value fits.
    ///
    /// # Errors
    /// What does not fit, bounded in number and length.
    pub(super) fn check(&self, value: &Value) -> Result<(), Misfits> {
        let misfits: Vec<String> = self
            .0
            .iter_errors(value)
            .take(MAX_REPORTED)
            .map(|error| {
                // Masked, since a value may be a whole file.
                let message = format!("`{}`: {}", error.instance_path(), error.masked());
                cut(message, MAX_MISFIT_BYTES)
            })
            .collect();
        if misfits.is_empty() { Ok(()) } else { Err(Misfits(misfits)) }
    }
}

/// Whether a text is JSON that fits the schema.
#[must_use]
pub fn fits(schema: &Value, text: &str) -> bool {
    let value = serde_json::from_str(text);
    value.is_ok_and(|value| Schema::compile(schema).is_ok_and(|schema| schema.check(&value).is_ok()))
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Schema")
    }
}

/// What does not fit: for each the place, a JSON pointer, and the rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Misfits(Vec<String>);

impl fmt::Display for Misfits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_misfit_names_place_and_rule_but_not_the_value() {
        let schema = Schema::compile(&json!({
            "type": "object",
            "properties": { "mode": { "type": "string" }, "how": { "enum": ["a", "b"] } },
            "required": ["mode"],
            "additionalProperties": false,
        }))
        .unwrap();
        assert_eq!(schema.check(&json!({ "mode": "x" })), Ok(()));
        let told = |value| schema.check(&value).unwrap_err().to_string();
        assert_eq!(told(json!({})), "``: \"mode\" is a required property");
        let wrong = told(json!({ "mode": [12345], "how": "secret", "z": 1 }));
        assert!(wrong.contains("`/mode`: value is not of type \"string\""), "{wrong}");
        assert!(wrong.contains("`/how`") && wrong.contains("'z' was unexpected"), "{wrong}");
        assert!(!wrong.contains("12345") && !wrong.contains("secret"), "{wrong}");
    }

    #[test]
    fn what_is_told_is_bounded() {
        let schema = Schema::compile(&json!({ "additionalProperties": { "type": "string" } })).unwrap();
        let many: Value = (0..1000)
            .map(|n| (format!("{n}{}", "x".repeat(1000)), json!(n)))
            .collect::<serde_json::Map<_, _>>()
            .into();
        let told = schema.check(&many).unwrap_err().to_string();
        assert!(told.len() <= MAX_REPORTED * (MAX_MISFIT_BYTES + 45), "{}", told.len());
    }

    #[test]
    fn a_schema_that_is_none_or_points_outside_is_refused() {
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
