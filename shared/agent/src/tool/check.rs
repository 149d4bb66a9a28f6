//! Checks of every tool definition, the registry's and a context's alike.
//!
//! They run when the function starts or when a context is written: the provider rejects a whole request for one
//! invalid tool, and would do so in every turn.

use serde_json::Value;

use super::{Definition, schema::Schema};
use crate::members::{INVALID_NAME, is_valid_name};

/// A fault in a tool definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionFault {
    /// The provider doesn't accept the name.
    #[error("{INVALID_NAME}")]
    InvalidName,
    /// The description is blank, so a model can't choose the tool.
    #[error("needs a description")]
    MissingDescription,
    /// The usage text is present but blank.
    #[error("has blank usage text. Omit Usage")]
    BlankUsage,
    /// The usage text could end its own block in the prompt.
    #[error("has usage text with the delimiter `<<<APTIX_`")]
    UsageDelimiter,
    /// The arguments are not an object.
    #[error("needs a schema with `\"type\": \"object\"`")]
    NotAnObject,
    /// The parameters are not a usable schema.
    #[error("has an invalid JSON schema: {0}")]
    InvalidSchema(String),
    /// An object doesn't declare its properties.
    #[error("needs a schema with `\"properties\"` at `{at}`; they may be empty")]
    MissingProperties {
        /// The location as a JSON pointer.
        at: String,
    },
    /// The keyword is at the top of the schema, where providers reject it.
    #[error("has a schema with `{keyword}` at its top; move it into a property")]
    KeywordAtTop {
        /// The keyword.
        keyword: &'static str,
    },
    /// A strict schema leaves properties optional or open.
    #[error("is strict, so at `{at}` every property must be required and additionalProperties must be false")]
    NotStrict {
        /// The location as a JSON pointer.
        at: String,
    },
    /// A strict schema uses a keyword outside the supported subset of JSON schema.
    #[error("is strict, so `{keyword}` isn't allowed at `{at}`; use anyOf, or leave Strict out")]
    KeywordInStrict {
        /// The location as a JSON pointer.
        at: String,
        /// The keyword.
        keyword: &'static str,
    },
    /// Two tools share the name.
    #[error("is registered more than once")]
    Duplicate,
    /// The registry has a tool that the client should run.
    #[error("is declared as a client tool, but the server implements it")]
    NotRunByServer,
    /// The tool is absent, but every turn offers it.
    #[error("is missing, but every turn offers it")]
    Missing,
}

/// Returns every fault of one definition.
#[must_use]
pub fn check(tool: &Definition) -> Vec<DefinitionFault> {
    let mut faults = check_built_in(tool);
    faults.extend(compile_fault(&tool.parameters));
    faults
}

/// The same as [`check`] for a tool of this program, but without compiling its schema. A test compiles those:
/// validating against the meta-schema would dominate the function's start-up time.
pub(super) fn check_built_in(tool: &Definition) -> Vec<DefinitionFault> {
    let mut faults = Vec::new();
    let mut add = |fault| faults.push(fault);
    if !is_valid_name(&tool.name) {
        add(DefinitionFault::InvalidName);
    }
    if tool.description.trim().is_empty() {
        add(DefinitionFault::MissingDescription);
    }
    if let Some(usage) = &tool.usage {
        if usage.trim().is_empty() {
            add(DefinitionFault::BlankUsage);
        }
        if usage.contains("<<<APTIX_") {
            add(DefinitionFault::UsageDelimiter);
        }
    }
    provider_faults(&tool.parameters, tool.strict).into_iter().for_each(add);
    faults
}

/// Returns every fault of a schema, of a tool's arguments or of an answer.
#[must_use]
pub fn schema_faults(schema: &Value, strict: bool) -> Vec<DefinitionFault> {
    let mut faults = provider_faults(schema, strict);
    faults.extend(compile_fault(schema));
    faults
}

fn compile_fault(schema: &Value) -> Option<DefinitionFault> {
    Schema::compile(schema).err().map(DefinitionFault::InvalidSchema)
}

/// Keywords that no provider accepts at the top of a function's parameters.
const NOT_AT_TOP: [&str; 5] = ["oneOf", "anyOf", "allOf", "enum", "not"];

/// Keywords that no provider accepts in a strict schema.
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

/// Returns the faults for which a provider would reject a valid schema.
fn provider_faults(parameters: &Value, strict: bool) -> Vec<DefinitionFault> {
    let present = |keywords: &'static [&str], schema: &Value| {
        keywords.iter().copied().filter(|keyword| schema.get(keyword).is_some()).collect::<Vec<_>>()
    };
    let is_object = parameters.get("type").and_then(Value::as_str) == Some("object");
    let mut faults = Vec::from_iter((!is_object).then_some(DefinitionFault::NotAnObject));
    let lacks_properties =
        parameters.get("type").is_some_and(is_object_type) && parameters.get("properties").is_none();
    faults.extend(lacks_properties.then(|| DefinitionFault::MissingProperties { at: String::new() }));
    faults.extend(
        present(&NOT_AT_TOP, parameters).into_iter().map(|keyword| DefinitionFault::KeywordAtTop { keyword }),
    );
    if strict {
        let mut schemas = Vec::new();
        collect_subschemas(parameters, String::new(), &mut schemas);
        for (at, schema) in schemas {
            let keywords = present(&NOT_IN_STRICT, schema).into_iter();
            // At the top it is reported already.
            let keywords = keywords.filter(|keyword| !(at.is_empty() && NOT_AT_TOP.contains(keyword)));
            faults
                .extend(keywords.map(|keyword| DefinitionFault::KeywordInStrict { at: at.clone(), keyword }));
            if is_open_object(schema) {
                faults.push(DefinitionFault::NotStrict { at });
            }
        }
    }
    faults
}

/// Returns true if an object leaves members open or optional, which a strict tool may not.
fn is_open_object(schema: &Value) -> bool {
    let members = schema.get("properties").and_then(Value::as_object);
    let is_object = members.is_some() || schema.get("type").is_some_and(is_object_type);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &String| required.is_some_and(|all| all.iter().any(|one| one == name));
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    is_object && !(closed && members.is_none_or(|members| members.keys().all(is_required)))
}

/// Collects a schema and its subschemas, each with its location.
fn collect_subschemas<'a>(schema: &'a Value, at: String, subschemas: &mut Vec<(String, &'a Value)>) {
    subschemas.push((at.clone(), schema));
    for keyword in ["properties", "$defs", "definitions"] {
        for (name, part) in schema.get(keyword).and_then(Value::as_object).into_iter().flatten() {
            collect_subschemas(part, format!("{at}/{keyword}/{name}"), subschemas);
        }
    }
    for (index, part) in schema.get("anyOf").and_then(Value::as_array).into_iter().flatten().enumerate() {
        collect_subschemas(part, format!("{at}/anyOf/{index}"), subschemas);
    }
    if let Some(items) = schema.get("items") {
        collect_subschemas(items, format!("{at}/items"), subschemas);
    }
}

/// Returns true for `"object"`, or a list of types that contains it.
fn is_object_type(kind: &Value) -> bool {
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

    fn faults_of(tool: &Definition) -> Vec<DefinitionFault> {
        check(tool)
    }

    #[test]
    fn all_faults_of_a_definition_are_listed() {
        assert_eq!(faults_of(&good()), []);
        let bad = Definition {
            name: "read file".to_owned(),
            description: " ".to_owned(),
            parameters: json!({ "type": "array" }),
            usage: Some("<<<APTIX_TOOL_USAGE_END name='x'>>>".to_owned()),
            ..good()
        };
        assert_eq!(
            faults_of(&bad),
            [
                DefinitionFault::InvalidName,
                DefinitionFault::MissingDescription,
                DefinitionFault::UsageDelimiter,
                DefinitionFault::NotAnObject
            ]
        );
        for name in ["", "ä", "a.b", &"x".repeat(65)] {
            assert_eq!(
                faults_of(&Definition { name: name.to_owned(), ..good() }),
                [DefinitionFault::InvalidName],
                "{name}"
            );
        }
    }

    #[test]
    fn strict_schema_is_closed_at_every_depth() {
        let strict = |parameters| faults_of(&Definition { parameters, strict: true, ..good() });
        let closed =
            json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false });
        assert_eq!(strict(closed.clone()), []);
        let open = json!({ "type": "object", "properties": {} });
        assert_eq!(strict(open.clone()), [DefinitionFault::NotStrict { at: String::new() }]);
        for keyword in ["$defs", "definitions"] {
            let mut schema = closed.clone();
            schema[keyword] = json!({ "leaf": open });
            assert_eq!(strict(schema), [DefinitionFault::NotStrict { at: format!("/{keyword}/leaf") }]);
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
        assert_eq!(strict(inner), [DefinitionFault::NotStrict { at: "/properties/list/items".to_owned() }]);
    }

    #[test]
    fn strict_schema_rejects_unsupported_keywords() {
        for keyword in NOT_IN_STRICT {
            let parameters = json!({
                "type": "object",
                "properties": { "a": { keyword: {} } },
                "required": ["a"],
                "additionalProperties": false,
            });
            let faults = provider_faults(&parameters, true);
            assert_eq!(
                faults,
                [DefinitionFault::KeywordInStrict { at: "/properties/a".to_owned(), keyword }]
            );
            assert_eq!(provider_faults(&parameters, false), [], "{keyword}");
        }
    }

    #[test]
    fn keywords_at_the_top_are_rejected_strict_or_not() {
        let faults_of = |parameters| faults_of(&Definition { parameters, ..good() });
        assert_eq!(
            faults_of(json!({ "type": "object" })),
            [DefinitionFault::MissingProperties { at: String::new() }]
        );
        for keyword in NOT_AT_TOP {
            let mut parameters = json!({ "type": "object", "properties": {} });
            parameters[keyword] = json!([{ "type": "object" }]);
            let faults = provider_faults(&parameters, true);
            assert!(faults.contains(&DefinitionFault::KeywordAtTop { keyword }), "{faults:?}");
            assert_eq!(provider_faults(&parameters, false), [DefinitionFault::KeywordAtTop { keyword }]);
        }
    }
}
