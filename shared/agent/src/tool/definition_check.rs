//! What holds for every definition of a tool, the registry's and a context's alike.
//!
//! Found when the function starts or when a context is written, since the provider refuses a whole
//! request for one bad tool, and would then do so in every turn.

use serde_json::Value;

use super::{Definition, schema::Schema};

/// How long a tool's name may be.
const MAX_NAME_CHARS: usize = 64;

/// What can be wrong with a tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// The provider would not take the name.
    #[error("needs a name of 1 to {MAX_NAME_CHARS} ASCII letters, digits, `_` and `-`")]
    Name,
    /// A model can't choose what nobody describes.
    #[error("needs a description")]
    NoDescription,
    /// Usage that is there has to say something.
    #[error("has blank usage text; leave it out")]
    BlankUsage,
    /// Usage could end its own block (AGN-003 §4.3).
    #[error("has usage text with the delimiter `<<<APTIX_`")]
    UsageDelimiter,
    /// Arguments are an object.
    #[error("needs a schema with `\"type\": \"object\"`")]
    NotAnObject,
    /// The parameters are no usable schema.
    #[error("has a schema that is no usable JSON schema: {0}")]
    Schema(String),
    /// An object has to say what is in it, if only that nothing is.
    #[error("needs a schema with `\"properties\"` at `{at}`, if only empty ones")]
    NoProperties {
        /// Where, as a JSON pointer.
        at: String,
    },
    /// Providers refuse these where the arguments begin.
    #[error("has a schema with `{keyword}` at its top; move it into a property")]
    AtTop {
        /// The keyword.
        keyword: &'static str,
    },
    /// `strict` demands more of a schema than JSON schema does.
    #[error("is strict, so at `{at}` every property must be required and additionalProperties must be false")]
    NotStrict {
        /// Where, as a JSON pointer.
        at: String,
    },
    /// `strict` knows only a part of JSON schema.
    #[error("is strict, so `{keyword}` may not stand at `{at}`; use anyOf, or leave Strict out")]
    NotInStrict {
        /// Where, as a JSON pointer.
        at: String,
        /// The keyword.
        keyword: &'static str,
    },
    /// Two tools of one name.
    #[error("is there more than once")]
    Doubled,
    /// The registry holds what the server runs.
    #[error("is said to be run by the client, but the server has code for it")]
    NotRunByServer,
    /// Every turn offers it (AGN-011 §4.2).
    #[error("is missing, and every turn offers it")]
    Missing,
}

/// Everything that is wrong with one definition; none when it is good.
#[must_use]
pub fn check(tool: &Definition) -> Vec<Why> {
    let mut faults = check_own(tool);
    faults.extend(unusable(&tool.parameters));
    faults
}

/// As [`check`], of a tool of this program's own. That its schema is one is seen by a test: the schema of schemas takes
/// longer than all else at a function's start.
pub(super) fn check_own(tool: &Definition) -> Vec<Why> {
    let mut faults = Vec::new();
    let mut add = |why| faults.push(why);
    if !is_name(&tool.name) {
        add(Why::Name);
    }
    if tool.description.trim().is_empty() {
        add(Why::NoDescription);
    }
    if let Some(usage) = &tool.usage {
        if usage.trim().is_empty() {
            add(Why::BlankUsage);
        }
        if usage.contains("<<<APTIX_") {
            add(Why::UsageDelimiter);
        }
    }
    refused_by_providers(&tool.parameters, tool.strict).into_iter().for_each(add);
    faults
}

/// Everything that is wrong with the schema of a tool's arguments, or of an answer.
#[must_use]
pub fn schema_faults(schema: &Value, strict: bool) -> Vec<Why> {
    let mut faults = refused_by_providers(schema, strict);
    faults.extend(unusable(schema));
    faults
}

fn unusable(schema: &Value) -> Option<Why> {
    Schema::compile(schema).err().map(Why::Schema)
}

/// Whether a provider takes it for the name of a tool or a format.
#[must_use]
pub fn is_name(name: &str) -> bool {
    (1..=MAX_NAME_CHARS).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Keywords that no provider takes where a function's parameters begin.
const NOT_AT_TOP: [&str; 5] = ["oneOf", "anyOf", "allOf", "enum", "not"];

/// Keywords that no provider takes in a strict schema.
const NOT_IN_STRICT: [&str; 9] = [
    "oneOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
];

/// What a provider would refuse in a schema that is one.
fn refused_by_providers(parameters: &Value, strict: bool) -> Vec<Why> {
    let within = |keywords: &'static [&str], schema: &Value| {
        keywords.iter().copied().filter(|keyword| schema.get(keyword).is_some()).collect::<Vec<_>>()
    };
    let is_object = parameters.get("type").and_then(Value::as_str) == Some("object");
    let mut faults = Vec::from_iter((!is_object).then_some(Why::NotAnObject));
    let bare = parameters.get("type").is_some_and(names_object) && parameters.get("properties").is_none();
    faults.extend(bare.then(|| Why::NoProperties { at: String::new() }));
    faults.extend(within(&NOT_AT_TOP, parameters).into_iter().map(|keyword| Why::AtTop { keyword }));
    if strict {
        let mut schemas = Vec::new();
        parts(parameters, String::new(), &mut schemas);
        for (at, schema) in schemas {
            let keywords = within(&NOT_IN_STRICT, schema).into_iter();
            // At the top it was named already.
            let keywords = keywords.filter(|keyword| !(at.is_empty() && NOT_AT_TOP.contains(keyword)));
            faults.extend(keywords.map(|keyword| Why::NotInStrict { at: at.clone(), keyword }));
            if leaves_open(schema) {
                faults.push(Why::NotStrict { at });
            }
        }
    }
    faults
}

/// Whether an object leaves members open or optional, which a strict tool may not.
fn leaves_open(schema: &Value) -> bool {
    let members = schema.get("properties").and_then(Value::as_object);
    let is_object = members.is_some() || schema.get("type").is_some_and(names_object);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &String| required.is_some_and(|all| all.iter().any(|one| one == name));
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    is_object && !(closed && members.is_none_or(|members| members.keys().all(is_required)))
}

/// A schema and those within it, each with its place.
fn parts<'a>(schema: &'a Value, at: String, found: &mut Vec<(String, &'a Value)>) {
    found.push((at.clone(), schema));
    for keyword in ["properties", "$defs", "definitions"] {
        for (name, part) in schema.get(keyword).and_then(Value::as_object).into_iter().flatten() {
            parts(part, format!("{at}/{keyword}/{name}"), found);
        }
    }
    for (index, part) in schema.get("anyOf").and_then(Value::as_array).into_iter().flatten().enumerate() {
        parts(part, format!("{at}/anyOf/{index}"), found);
    }
    if let Some(items) = schema.get("items") {
        parts(items, format!("{at}/items"), found);
    }
}

/// `"object"`, or a list of types with it.
fn names_object(kind: &Value) -> bool {
    kind == "object" || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "object"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tool::ExecutedBy;

    fn good() -> Definition {
        Definition {
            name: "read-file_2".to_owned(),
            description: "Reads.".to_owned(),
            parameters: json!({ "type": "object", "properties": {} }),
            usage: None,
            executed_by: ExecutedBy::Client,
            strict: false,
        }
    }

    fn whys(tool: &Definition) -> Vec<Why> {
        check(tool)
    }

    #[test]
    fn all_faults_of_a_definition_are_listed() {
        assert_eq!(whys(&good()), []);
        let bad = Definition {
            name: "read file".to_owned(),
            description: " ".to_owned(),
            parameters: json!({ "type": "array" }),
            usage: Some("<<<APTIX_TOOL_USAGE_END name='x'>>>".to_owned()),
            ..good()
        };
        assert_eq!(whys(&bad), [Why::Name, Why::NoDescription, Why::UsageDelimiter, Why::NotAnObject]);
        for name in ["", "ä", "a.b", &"x".repeat(65)] {
            assert_eq!(whys(&Definition { name: name.to_owned(), ..good() }), [Why::Name], "{name}");
        }
    }

    #[test]
    fn a_strict_tool_leaves_nothing_open_at_any_depth() {
        let strict = |parameters| whys(&Definition { parameters, strict: true, ..good() });
        let closed =
            json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false });
        assert_eq!(strict(closed.clone()), []);
        let open = json!({ "type": "object", "properties": {} });
        assert_eq!(strict(open.clone()), [Why::NotStrict { at: String::new() }]);
        for keyword in ["$defs", "definitions"] {
            let mut schema = closed.clone();
            schema[keyword] = json!({ "leaf": open });
            assert_eq!(strict(schema), [Why::NotStrict { at: format!("/{keyword}/leaf") }]);
        }
        let inner = json!({
            "type": "object",
            "properties": { "list": { "type": "array", "items": {
                "type": ["object", "null"],
                "properties": { "a": { "type": "string" } },
                "required": [],
                "additionalProperties": false,
            } } },
            "required": ["list"],
            "additionalProperties": false,
        });
        assert_eq!(strict(inner), [Why::NotStrict { at: "/properties/list/items".to_owned() }]);
    }

    #[test]
    fn a_strict_tool_keeps_to_the_part_of_json_schema_that_providers_hold_models_to() {
        for keyword in NOT_IN_STRICT {
            let parameters = json!({
                "type": "object",
                "properties": { "a": { keyword: {} } },
                "required": ["a"],
                "additionalProperties": false,
            });
            let faults = refused_by_providers(&parameters, true);
            assert_eq!(faults, [Why::NotInStrict { at: "/properties/a".to_owned(), keyword }]);
            assert_eq!(refused_by_providers(&parameters, false), [], "{keyword}");
        }
    }

    #[test]
    fn what_providers_refuse_at_the_top_is_refused_strict_or_not() {
        let whys = |parameters| whys(&Definition { parameters, ..good() });
        assert_eq!(whys(json!({ "type": "object" })), [Why::NoProperties { at: String::new() }]);
        for keyword in NOT_AT_TOP {
            let mut parameters = json!({ "type": "object", "properties": {} });
            parameters[keyword] = json!([{ "type": "object" }]);
            let faults = refused_by_providers(&parameters, true);
            assert!(faults.contains(&Why::AtTop { keyword }), "{faults:?}");
            assert_eq!(refused_by_providers(&parameters, false), [Why::AtTop { keyword }]);
        }
    }
}
