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
    #[error("needs parameters with `\"type\": \"object\"`")]
    NotAnObject,
    /// The parameters are no usable schema.
    #[error("has parameters that are no usable JSON schema: {0}")]
    Schema(String),
    /// `strict` demands more of a schema than JSON schema does.
    #[error("is strict, so at `{at}` every property must be required and additionalProperties must be false")]
    NotStrict {
        /// Where, as a JSON pointer.
        at: String,
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
    inspect(tool).1
}

/// As [`check`], with the compiled schema when there is one.
pub(super) fn inspect(tool: &Definition) -> (Option<Schema>, Vec<Why>) {
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
    if tool.parameters.get("type").and_then(Value::as_str) != Some("object") {
        add(Why::NotAnObject);
    }
    let schema = Schema::compile(&tool.parameters).map_err(|why| add(Why::Schema(why))).ok();
    if tool.strict {
        let mut gaps = Vec::new();
        strict_gaps(&tool.parameters, String::new(), &mut gaps);
        gaps.into_iter().for_each(|at| add(Why::NotStrict { at }));
    }
    (schema, faults)
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME_CHARS).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Objects within a schema that leave members open or optional, which a strict tool may not.
fn strict_gaps(schema: &Value, at: String, gaps: &mut Vec<String>) {
    let members = schema.get("properties").and_then(Value::as_object);
    let is_object = members.is_some() || schema.get("type").is_some_and(names_object);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &String| required.is_some_and(|all| all.iter().any(|one| one == name));
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    if is_object && !(closed && members.is_none_or(|members| members.keys().all(is_required))) {
        gaps.push(at.clone());
    }
    for keyword in ["properties", "$defs"] {
        for (name, part) in schema.get(keyword).and_then(Value::as_object).into_iter().flatten() {
            strict_gaps(part, format!("{at}/{keyword}/{name}"), gaps);
        }
    }
    for (index, part) in schema.get("anyOf").and_then(Value::as_array).into_iter().flatten().enumerate() {
        strict_gaps(part, format!("{at}/anyOf/{index}"), gaps);
    }
    if let Some(items) = schema.get("items") {
        strict_gaps(items, format!("{at}/items"), gaps);
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
            parameters: json!({ "type": "object" }),
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
        assert_eq!(strict(closed), []);
        assert_eq!(strict(json!({ "type": "object" })), [Why::NotStrict { at: String::new() }]);
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
}
