//! Arguments that a tool's schema mirrors into headers, so that middleboxes can route calls.

use std::collections::HashSet;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

const ANNOTATION: &str = "x-mcp-header";
const PREFIX: &str = "Mcp-Param-";
const ENCODED_PREFIX: &str = "=?base64?";
const ENCODED_SUFFIX: &str = "?=";

/// The longest value of a header, in bytes. Longer ones are refused by common servers.
const MAX_VALUE: usize = 4096;
/// The largest number of mirrored arguments.
const MAX_HEADERS: usize = 32;

/// An argument that is sent as a header too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ParamHeader {
    /// The names of the properties from the root of the arguments.
    pub path: Vec<String>,
    /// The name of the header after `Mcp-Param-`.
    pub header: String,
}

impl ParamHeader {
    /// Returns the headers that the schema of a tool asks for with `x-mcp-header`.
    ///
    /// # Errors
    /// Returns the rule that the schema breaks. Its tool can't be called.
    pub fn of_schema(schema: &Value) -> Result<Vec<Self>, String> {
        let mut headers = Vec::new();
        if schema.get(ANNOTATION).is_some() {
            return Err(format!("`{ANNOTATION}` is at the root of the input schema"));
        }
        collect(schema, &mut Vec::new(), &mut headers)?;
        let expected = headers.len();
        // Annotations that no path of properties leads to have no argument to mirror.
        if count(schema) != expected {
            return Err(format!("`{ANNOTATION}` is outside the properties of the input schema"));
        }
        if expected > MAX_HEADERS {
            return Err(format!("more than {MAX_HEADERS} properties have `{ANNOTATION}`"));
        }
        let mut names = HashSet::new();
        if let Some(twice) = headers.iter().find(|header| !names.insert(header.header.to_ascii_lowercase())) {
            return Err(format!("two properties have the `{ANNOTATION}` `{}`", twice.header));
        }
        Ok(headers)
    }
}

fn collect(schema: &Value, path: &mut Vec<String>, headers: &mut Vec<ParamHeader>) -> Result<(), String> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Ok(());
    };
    for (name, property) in properties {
        path.push(name.clone());
        if let Some(annotation) = property.get(ANNOTATION) {
            headers.push(annotated(path, property, annotation)?);
        }
        collect(property, path, headers)?;
        path.pop();
    }
    Ok(())
}

fn annotated(path: &[String], property: &Value, annotation: &Value) -> Result<ParamHeader, String> {
    let shown = path.join(".");
    let header = annotation.as_str().unwrap_or_default();
    if HeaderName::from_bytes(header.as_bytes()).is_err() {
        return Err(format!("the `{ANNOTATION}` of `{shown}` isn't a header name"));
    }
    if !matches!(property.get("type").and_then(Value::as_str), Some("string" | "integer" | "boolean")) {
        return Err(format!("`{shown}` has `{ANNOTATION}`, and isn't a string, an integer or a boolean"));
    }
    let is_declared_secret = property.get("writeOnly").and_then(Value::as_bool) == Some(true)
        || property.get("format").and_then(Value::as_str) == Some("password");
    if is_declared_secret || path.iter().map(String::as_str).chain([header]).any(is_secret) {
        return Err(format!(
            "`{shown}` looks like a secret, and `{ANNOTATION}` would show it to every proxy"
        ));
    }
    Ok(ParamHeader { path: path.to_vec(), header: header.to_owned() })
}

/// Returns true if a name has a word for secrets, in any of the usual spellings: `apiKey`, `API-Key`, `access_token`.
fn is_secret(name: &str) -> bool {
    const WORDS: [&str; 9] = [
        "password",
        "passwd",
        "passphrase",
        "secret",
        "token",
        "credential",
        "credentials",
        "authorization",
        "bearer",
    ];
    const KEYS: [&str; 5] = ["api", "private", "access", "secret", "signing"];
    let words = words(name);
    words.iter().any(|word| WORDS.contains(&word.as_str()) || word == "apikey")
        || words
            .windows(2)
            .any(|pair| matches!(pair, [first, second] if KEYS.contains(&first.as_str()) && second == "key"))
}

/// Returns the words of a name in lower case, separated by signs or by a change of case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
        if let (Some(word), true) = (words.last_mut(), c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns the number of annotations in a schema, wherever a subschema can be.
fn count(schema: &Value) -> usize {
    match schema {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(object) => {
            let own = usize::from(object.contains_key(ANNOTATION));
            own + object.iter().map(|(key, value)| count_below(key, value)).sum::<usize>()
        }
        _ => 0,
    }
}

fn count_below(key: &str, value: &Value) -> usize {
    match key {
        // Data of instances, or names of properties.
        ANNOTATION | "default" | "const" | "enum" | "examples" | "dependentRequired" | "required" => 0,
        // Maps whose keys are names, so that a property may be called like the annotation.
        "properties" | "$defs" | "definitions" | "dependencies" | "dependentSchemas"
        | "patternProperties" => {
            value.as_object().map_or(0, |map: &Map<String, Value>| map.values().map(count).sum())
        }
        _ => count(value),
    }
}

/// Adds the headers of a call. Absent arguments and `null` have none.
pub(crate) fn add(
    headers: &mut HeaderMap,
    mirrored: &[ParamHeader],
    arguments: &Value,
) -> Result<(), &'static str> {
    for ParamHeader { path, header } in mirrored {
        let argument = path.iter().try_fold(arguments, |value, name| value.get(name));
        let text = match argument {
            None | Some(Value::Null) => continue,
            Some(Value::String(text)) => text.clone(),
            Some(Value::Bool(value)) => value.to_string(),
            Some(Value::Number(number)) => number.to_string(),
            Some(_) => {
                return Err("an argument that is sent as a header isn't a string, a number or a boolean");
            }
        };
        let name = HeaderName::from_bytes(format!("{PREFIX}{header}").as_bytes())
            .map_err(|_| "the tool names an invalid header")?;
        headers.insert(name, value(&text).ok_or("an argument that is sent as a header is too long")?);
    }
    Ok(())
}

/// Returns a text as the value of a header, encoded if it would arrive as another one. Nothing if it is too long.
pub(crate) fn value(text: &str) -> Option<HeaderValue> {
    let is_trimmed = text.trim_matches([' ', '\t']) == text;
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let is_sentinel = text.starts_with(ENCODED_PREFIX) && text.ends_with(ENCODED_SUFFIX);
    let encoded = if is_trimmed && is_plain && !is_sentinel {
        text.to_owned()
    } else {
        format!("{ENCODED_PREFIX}{}{ENCODED_SUFFIX}", BASE64_STANDARD.encode(text))
    };
    if encoded.len() > MAX_VALUE {
        return None;
    }
    HeaderValue::from_str(&encoded).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with(properties: Value) -> Result<Vec<ParamHeader>, String> {
        ParamHeader::of_schema(&json!({ "type": "object", "properties": properties }))
    }

    #[test]
    fn annotated_arguments_become_headers() {
        let mirrored = with(json!({
            "region": { "type": "string", "x-mcp-header": "Region" },
            "location": { "type": "object", "properties": { "floor": { "type": "integer", "x-mcp-header": "Floor" } } },
            "dry": { "type": "boolean", "x-mcp-header": "Dry" },
            "query": { "type": "string" },
        }))
        .unwrap();
        let mut headers = HeaderMap::new();
        let arguments = json!({ "region": "Zürich", "location": { "floor": 3 }, "dry": null, "query": "q" });
        add(&mut headers, &mirrored, &arguments).unwrap();
        assert_eq!(headers["mcp-param-region"], "=?base64?WsO8cmljaA==?=");
        assert_eq!(headers["mcp-param-floor"], "3");
        assert_eq!(headers.len(), 2);
    }

    #[test]
    fn values_survive_as_headers_or_are_encoded() {
        for text in ["", "a b", "us-west1", "=?base64?"] {
            assert_eq!(value(text).unwrap(), text);
        }
        for text in [" a", "a ", "\ta", "a\nb", "é", "=?base64?YQ==?="] {
            let encoded = value(text).unwrap();
            let inner = encoded.to_str().unwrap();
            let inner = inner.strip_prefix(ENCODED_PREFIX).unwrap().strip_suffix(ENCODED_SUFFIX).unwrap();
            assert_eq!(BASE64_STANDARD.decode(inner).unwrap(), text.as_bytes());
        }
        assert!(value(&"a".repeat(MAX_VALUE + 1)).is_none());
    }

    #[test]
    fn annotations_that_break_the_rules_exclude_the_tool() {
        let annotated = |kind: &str, header: Value| json!({ "type": kind, "x-mcp-header": header });
        let cases = [
            json!({ "a": annotated("string", json!("")) }),
            json!({ "a": annotated("string", json!("My Region")) }),
            json!({ "a": annotated("string", json!("Région")) }),
            json!({ "a": annotated("string", json!(7)) }),
            json!({ "a": annotated("number", json!("Score")) }),
            json!({ "a": annotated("object", json!("Data")) }),
            json!({ "a": annotated("string", json!("Same")), "b": annotated("string", json!("same")) }),
            json!({ "a": { "type": "array", "items": annotated("string", json!("Item")) } }),
            json!({ "a": { "anyOf": [annotated("string", json!("Any"))] } }),
        ];
        for properties in cases {
            assert!(with(properties.clone()).is_err(), "{properties}");
        }
        assert!(ParamHeader::of_schema(&json!({ "type": "object", "x-mcp-header": "Root" })).is_err());
        assert!(with(json!({ "x-mcp-header": { "type": "string" } })).unwrap().is_empty());
    }

    #[test]
    fn secrets_are_never_mirrored() {
        for name in ["apiKey", "API-Key", "api_key", "access_token", "Password", "x-secret-id", "APIKEY"] {
            assert!(is_secret(name), "{name}");
            let by_name = json!({ name: { "type": "string", "x-mcp-header": "Plain" } });
            assert!(with(by_name).unwrap_err().contains("looks like a secret"));
        }
        for name in ["region", "key", "tokens", "keyboard", "apiVersion"] {
            assert!(!is_secret(name), "{name}");
        }
        let declared = json!({ "a": { "type": "string", "format": "password", "x-mcp-header": "Plain" } });
        assert!(with(declared).is_err());
    }
}
