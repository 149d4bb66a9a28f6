//! Converts the document to OpenAPI 3.0, for tools such as client generators that don't support 3.1.
//!
//! The result is less strict: an object is one list of members, even if some exclude each other; each error
//! response has the same schema; nothing is null; and additional members are allowed. So every value that fits the
//! original document fits this one, but not the other way round. Deliberately absent: any knowledge of specific
//! schemas.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

const VERSION: &str = "3.0.3";
const SCHEMAS: &str = "#/components/schemas/";
/// The schema of every error response.
const FAILURE: &str = "InvokeResult_Failure";
/// Schema keywords that OpenAPI 3.0 doesn't have.
const UNSUPPORTED_KEYWORDS: [&str; 4] = ["contentMediaType", "contentEncoding", "examples", "propertyNames"];

type Object = Map<String, Value>;

/// Converts a document to OpenAPI 3.0.
#[must_use]
pub(crate) fn down_convert(mut document: Value) -> Value {
    if let Some(root) = document.as_object_mut() {
        root.insert("openapi".to_owned(), json!(VERSION));
    }
    if let Some(license) = document.pointer_mut("/info/license").and_then(Value::as_object_mut) {
        license.remove("identifier");
    }
    let responses = document.pointer("/components/responses").cloned().unwrap_or_default();
    for operation in operations(&mut document) {
        simplify_responses(operation, &responses);
    }
    if let Some(components) = document.pointer_mut("/components").and_then(Value::as_object_mut) {
        components.remove("responses");
    }
    remove_null(&mut document);
    let schemas =
        document.pointer("/components/schemas").and_then(Value::as_object).cloned().unwrap_or_default();
    flatten_all(&mut document, &schemas);
    document
}

fn operations(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    let items = paths.into_iter().flat_map(Object::values_mut).filter_map(Value::as_object_mut);
    items.flat_map(|item| item.values_mut()).filter(|operation| operation.get("responses").is_some())
}

/// Reduces an operation to one media type each way and one schema for errors.
fn simplify_responses(operation: &mut Value, shared_responses: &Value) {
    let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
    for (status, response) in responses.into_iter().flatten() {
        let name = response.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
        if let Some(shared) = name.and_then(|name| shared_responses.get(name)) {
            *response = shared.clone();
        }
        let Some(content) = response.get_mut("content") else { continue };
        if status.starts_with(['4', '5']) {
            *content = json!({ "application/json": { "schema": { "$ref": format!("{SCHEMAS}{FAILURE}") } } });
        } else if !keep_only(content, "application/json") {
            *content = json!({ "text/plain": { "schema": { "type": "string" } } });
        }
    }
    if let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) {
        // A client has one type for success: that of the response with a body.
        let has_body = |(status, response): (&String, &Value)| {
            status.starts_with('2') && response.get("content").is_some()
        };
        if responses.iter().any(has_body) {
            responses.retain(|status, response| {
                status.starts_with(['4', '5']) || response.get("content").is_some()
            });
        }
    }
    if let Some(content) = operation.pointer_mut("/requestBody/content") {
        keep_only(content, "application/json");
    }
}

/// Removes all other media types, if this one is present.
fn keep_only(content: &mut Value, media_type: &str) -> bool {
    let Some(kept) = content.get(media_type).cloned() else { return false };
    *content = json!({ media_type: kept });
    true
}

fn is_null(schema: &Value) -> bool {
    schema["type"] == "null"
}

/// Removes null from schemas. A member that may be null becomes optional.
fn remove_null(value: &mut Value) {
    let Some(object) = value.as_object_mut() else {
        value.as_array_mut().into_iter().flatten().for_each(remove_null);
        return;
    };
    if let Some(properties) = object.get("properties").and_then(Value::as_object).cloned() {
        let is_null_member =
            |name: &Value| name.as_str().and_then(|name| properties.get(name)).is_some_and(is_null);
        if let Some(required) = object.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|name| !is_null_member(name));
        }
        if let Some(kept) = object.get_mut("properties").and_then(Value::as_object_mut) {
            kept.retain(|_, property| !is_null(property));
        }
    }
    if let Some(types) = object.get_mut("type").filter(|types| types.is_array())
        && let Some(one) = types.as_array().into_iter().flatten().find(|name| *name != "null").cloned()
    {
        *types = one;
    }
    for choice in ["oneOf", "anyOf"] {
        let Some(mut branches) = object.get(choice).and_then(Value::as_array).cloned() else { continue };
        branches.retain(|branch| !is_null(branch));
        match <[Value; 1]>::try_from(branches.clone()) {
            Ok([one]) => {
                object.remove(choice);
                // Keywords beside a reference are ignored.
                if one.get("$ref").is_some() {
                    object.clear();
                }
                object.extend(one.as_object().cloned().unwrap_or_default());
            }
            Err(_) => _ = object.insert(choice.to_owned(), Value::Array(branches)),
        }
    }
    let words = object.get("enum").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    // A value without letters or digits can't be the name of a variant.
    let is_symbolic = words.into_iter().any(|word| !word.chars().any(char::is_alphanumeric));
    if is_symbolic || object.get("type").is_some_and(|kind| kind == "boolean") {
        object.remove("enum");
    }
    // A client generated today must accept members that are added later.
    if object.get("additionalProperties").is_some_and(|other| *other == false) {
        object.remove("additionalProperties");
    }
    // Only in schemas: elsewhere `examples` is a keyword of OpenAPI itself.
    if object.contains_key("type") {
        UNSUPPORTED_KEYWORDS.iter().for_each(|word| _ = object.remove(*word));
    }
    object.values_mut().for_each(remove_null);
}

/// Flattens every composed object into one list of members.
fn flatten_all(value: &mut Value, schemas: &Object) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| flatten_all(item, schemas)),
        Value::Object(object) => {
            if let Some(flat) = flatten_schema(object, schemas) {
                *object = flat;
            }
            object.values_mut().for_each(|inner| flatten_all(inner, schemas));
        }
        _ => {}
    }
}

/// Flattens a schema that is composed of objects without a discriminator.
fn flatten_schema(object: &Object, schemas: &Object) -> Option<Object> {
    let is_composed = ["allOf", "oneOf", "anyOf"].iter().any(|word| object.contains_key(*word));
    if !is_composed || object.contains_key("discriminator") {
        return None;
    }
    let (properties, required) = members(object, schemas)?;
    let mut flat = object.clone();
    ["allOf", "oneOf", "anyOf"].iter().for_each(|word| _ = flat.remove(*word));
    flat.insert("type".to_owned(), json!("object"));
    flat.insert("properties".to_owned(), Value::Object(properties));
    flat.remove("required");
    if !required.is_empty() {
        flat.insert("required".to_owned(), json!(required));
    }
    Some(flat)
}

/// Returns the members of an object and those that are always present. Returns `None` if it is not an object.
fn members(object: &Object, schemas: &Object) -> Option<(Object, BTreeSet<String>)> {
    if let Some(path) = object.get("$ref").and_then(Value::as_str) {
        return members(schemas.get(path.strip_prefix(SCHEMAS)?)?.as_object()?, schemas);
    }
    let mut properties = object.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let names = object.get("required").and_then(Value::as_array).into_iter().flatten();
    let mut required: BTreeSet<String> = names.filter_map(|name| Some(name.as_str()?.to_owned())).collect();
    let mut is_object = object.get("type").is_some_and(|kind| kind == "object")
        || !properties.is_empty()
        || !required.is_empty();
    for (word, is_all) in [("allOf", true), ("oneOf", false), ("anyOf", false)] {
        let Some(parts) = object.get(word).and_then(Value::as_array) else { continue };
        is_object = true;
        let mut always: Option<BTreeSet<String>> = None;
        let mut alternatives = Object::new();
        for part in parts {
            let (of_part, of_all) = members(part.as_object()?, schemas)?;
            if is_all {
                keep_first(&mut properties, of_part);
            } else {
                alternatives.extend(of_part);
            }
            always = Some(match always {
                None => of_all,
                Some(so_far) if is_all => so_far.union(&of_all).cloned().collect(),
                Some(so_far) => so_far.intersection(&of_all).cloned().collect(),
            });
        }
        keep_first(&mut properties, alternatives);
        required.extend(always.unwrap_or_default());
    }
    required.retain(|name| properties.contains_key(name));
    is_object.then_some((properties, required))
}

/// Adds the members that are not declared yet. A later part only narrows a declared member, and a narrower schema of one
/// alternative does not hold for the others.
fn keep_first(properties: &mut Object, later: Object) {
    for (name, schema) in later {
        properties.entry(name).or_insert(schema);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(schemas: Value) -> Value {
        down_convert(json!({ "openapi": "3.1.0", "paths": {}, "components": { "schemas": schemas } }))["components"]
            ["schemas"]
            .clone()
    }

    #[test]
    fn composed_objects_are_flattened() {
        let either = json!({ "oneOf": [
            { "type": "object", "required": ["A"], "properties": { "A": { "type": "string" } } },
            { "$ref": "#/components/schemas/B" },
        ] });
        let b = json!({ "type": "object", "required": ["B"], "properties": { "B": { "type": ["integer", "null"] } } });
        let both = json!({ "description": "d", "allOf": [
            { "$ref": "#/components/schemas/Either" },
            { "type": "object", "required": ["C"], "properties": { "C": { "oneOf": [{ "$ref": "#/components/schemas/B" }, { "type": "null" }] } } },
        ] });
        let schemas = converted(json!({ "Either": either, "B": b, "Both": both }));
        assert_eq!(
            schemas["Both"],
            json!({ "description": "d", "type": "object", "required": ["C"], "properties": {
                "A": { "type": "string" }, "B": { "type": "integer" }, "C": { "$ref": "#/components/schemas/B" },
            } })
        );
        assert_eq!(schemas["Either"].get("required"), None, "neither is always there");
    }

    #[test]
    fn narrowed_member_keeps_its_declaration() {
        let files = json!({ "type": "array", "items": { "type": "string" }, "description": "Files." });
        let narrowed = json!({ "type": "array", "items": {}, "minItems": 1 });
        let turn = json!({ "allOf": [
            { "type": "object", "properties": { "Files": files, "Text": { "type": ["string", "null"] } } },
            { "anyOf": [
                { "required": ["Text"], "properties": { "Text": { "type": "string", "pattern": "x" } } },
                { "required": ["Files"], "properties": { "Files": narrowed } },
            ] },
        ] });
        let schemas = converted(json!({ "Turn": turn }));
        assert_eq!(
            schemas["Turn"],
            json!({ "type": "object", "properties": { "Files": files, "Text": { "type": "string" } } })
        );
    }

    #[test]
    fn discriminated_and_scalar_unions_kept() {
        let tagged = json!({ "oneOf": [{ "$ref": "#/components/schemas/A" }], "discriminator": { "propertyName": "Kind" } });
        let value = json!({ "oneOf": [{ "type": "string" }, { "type": "boolean" }] });
        let schemas = converted(
            json!({ "A": { "type": "object", "properties": {} }, "Value": value, "Two": { "oneOf": [
            { "$ref": "#/components/schemas/A" }, { "$ref": "#/components/schemas/A" }], "discriminator": {} }, "Tagged": tagged }),
        );
        assert_eq!(schemas["Value"], value);
        assert!(schemas["Two"].get("oneOf").is_some());
    }
}
