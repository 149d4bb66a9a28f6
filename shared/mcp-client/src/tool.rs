//! Tools as a server lists them.

use serde_json::Value;

use crate::{
    param_header::ParamHeader,
    text::{excerpt, has_hidden, visible},
};

const MAX_NAME: usize = 128;
/// The longest description, in bytes.
const MAX_DESCRIPTION: usize = 16 * 1024;
/// The largest input schema, in bytes.
const MAX_SCHEMA: usize = 64 * 1024;

/// A tool of a server. All of its texts are visible: hidden characters are escapes.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// The name that calls use: 1 to 128 letters, digits and `_-./`.
    pub name: String,
    /// The name for people.
    pub title: Option<String>,
    /// The description for the model, at most 16 KiB.
    pub description: String,
    /// The JSON Schema of the arguments, at most 64 KiB. References aren't resolved.
    pub input_schema: Value,
    /// The server's own hints. They bind nobody.
    pub hints: Hints,
    /// The arguments that a call sends as headers too.
    pub headers: Vec<ParamHeader>,
}

/// The annotations of a tool. Servers often leave them out, or set them wrongly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hints {
    /// The tool changes nothing.
    pub read_only: Option<bool>,
    /// The tool may destroy something.
    pub destructive: Option<bool>,
    /// A second call with the same arguments changes nothing more.
    pub idempotent: Option<bool>,
    /// The tool reaches beyond the server.
    pub open_world: Option<bool>,
}

/// A tool of a server that can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExcludedTool {
    /// The name, visible and shortened.
    pub name: String,
    /// The rule that the tool breaks.
    pub reason: String,
}

/// Returns the tool in an entry of a list, or the rule that it breaks.
pub(crate) fn parse(mut entry: Value) -> Result<Tool, ExcludedTool> {
    let name = entry.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let excluded = |reason: String| ExcludedTool { name: excerpt(&name, MAX_NAME), reason };
    if !is_name(&name) {
        let reason = format!("its name must have 1 to {MAX_NAME} letters, digits and `_-./`");
        return Err(excluded(reason));
    }
    let text = |member: &str| entry.get(member).and_then(Value::as_str).map(visible);
    let (title, description) = (text("title"), text("description").unwrap_or_default());
    if description.len() > MAX_DESCRIPTION
        || title.as_ref().is_some_and(|title| title.len() > MAX_DESCRIPTION)
    {
        return Err(excluded(format!("its description has more than {MAX_DESCRIPTION} bytes")));
    }
    let hints = hints(entry.get("annotations"));
    let mut input_schema = entry.get_mut("inputSchema").map(Value::take).unwrap_or_default();
    if input_schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(excluded("its input schema must be a schema with the type `object`".to_owned()));
    }
    show_schema(&mut input_schema).map_err(|rule| excluded(rule.to_owned()))?;
    if input_schema.to_string().len() > MAX_SCHEMA {
        return Err(excluded(format!("its input schema has more than {MAX_SCHEMA} bytes")));
    }
    let headers = ParamHeader::of_schema(&input_schema).map_err(excluded)?;
    Ok(Tool { name, title, description, input_schema, hints, headers })
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte))
}

fn hints(annotations: Option<&Value>) -> Hints {
    let hint = |name: &str| annotations.and_then(|hints| hints.get(name)).and_then(Value::as_bool);
    Hints {
        read_only: hint("readOnlyHint"),
        destructive: hint("destructiveHint"),
        idempotent: hint("idempotentHint"),
        open_world: hint("openWorldHint"),
    }
}

/// Makes the descriptions of a schema visible.
///
/// # Errors
/// Returns the rule that the schema breaks: invisible characters elsewhere have a meaning that an escape would change.
pub fn show_schema(schema: &mut Value) -> Result<(), &'static str> {
    show_annotations(schema);
    if hides(schema) { Err("its input schema has invisible characters in names or values") } else { Ok(()) }
}

/// Makes the texts of a schema visible that describe something. Others have a meaning that an escape would change.
fn show_annotations(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(show_annotations),
        Value::Object(object) => {
            for (key, value) in object {
                match value {
                    Value::String(text) if matches!(key.as_str(), "title" | "description" | "$comment") => {
                        *text = visible(text);
                    }
                    value => show_annotations(value),
                }
            }
        }
        _ => {}
    }
}

fn hides(value: &Value) -> bool {
    match value {
        Value::String(text) => has_hidden(text),
        Value::Array(items) => items.iter().any(hides),
        Value::Object(object) => object.iter().any(|(key, value)| has_hidden(key) || hides(value)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, schema: Value) -> Result<Tool, ExcludedTool> {
        parse(json!({ "name": name, "description": "Reads.\u{200b}", "inputSchema": schema }))
    }

    #[test]
    fn texts_of_a_tool_are_visible() {
        let schema = json!({
            "type": "object",
            "properties": { "path": { "type": "string", "description": "A\u{202e}B", "pattern": "^[a-z]+$" } },
            "$defs": { "any": { "$comment": "\u{e0041}" } },
        });
        let tool = tool("files.read", schema).unwrap();
        assert_eq!(tool.description, "Reads.\\u{200b}");
        assert_eq!(tool.input_schema["properties"]["path"]["description"], "A\\u{202e}B");
        assert_eq!(tool.input_schema["$defs"]["any"]["$comment"], "\\u{e0041}");
    }

    #[test]
    fn tool_that_breaks_a_rule_is_excluded_with_the_rule() {
        let object = json!({ "type": "object" });
        let cases = [
            (tool("", object.clone()), "its name"),
            (tool("a b", object.clone()), "its name"),
            (tool("a\u{200b}", object.clone()), "its name"),
            (tool(&"a".repeat(129), object.clone()), "its name"),
            (tool("a", json!({ "type": "string" })), "the type `object`"),
            (tool("a", Value::Null), "the type `object`"),
            (tool("a", json!({ "type": "object", "enum": ["\u{200b}"] })), "invisible characters"),
            (
                tool("a", json!({ "type": "object", "properties": { "\u{202e}": {} } })),
                "invisible characters",
            ),
            (tool("a", json!({ "type": "object", "default": "x".repeat(MAX_SCHEMA) })), "65536 bytes"),
            (
                parse(
                    json!({ "name": "a", "description": "x".repeat(MAX_DESCRIPTION + 1), "inputSchema": object }),
                ),
                "16384 bytes",
            ),
        ];
        for (tool, rule) in cases {
            let excluded = tool.unwrap_err();
            assert!(excluded.reason.contains(rule), "{}", excluded.reason);
        }
    }
}
