//! The same document for tools that know OpenAPI 3.0 and no more, as generators of clients do.
//!
//! What a value must be is said with fewer words: an object is one list of members, whichever of them exclude each other;
//! each refusal has one shape; nothing is null, and more members may be there. So what fits the whole document fits this one, and not the other way round.
//! Deliberately absent: any knowledge of what the schemas are about.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

const VERSION: &str = "3.0.3";
const SCHEMAS: &str = "#/components/schemas/";
/// The shape of every refusal.
const FAILURE: &str = "InvokeResult_Failure";
/// Words of schemas that OpenAPI 3.0 has not.
const NEWER: [&str; 4] = ["contentMediaType", "contentEncoding", "examples", "propertyNames"];

type Object = Map<String, Value>;

/// The document in OpenAPI 3.0.
#[must_use]
pub(super) fn plain(mut document: Value) -> Value {
    if let Some(root) = document.as_object_mut() {
        root.insert("openapi".to_owned(), json!(VERSION));
    }
    if let Some(license) = document.pointer_mut("/info/license").and_then(Value::as_object_mut) {
        license.remove("identifier");
    }
    let responses = document.pointer("/components/responses").cloned().unwrap_or_default();
    for operation in operations(&mut document) {
        answer_plainly(operation, &responses);
    }
    if let Some(components) = document.pointer_mut("/components").and_then(Value::as_object_mut) {
        components.remove("responses");
    }
    without_null(&mut document);
    let known =
        document.pointer("/components/schemas").and_then(Value::as_object).cloned().unwrap_or_default();
    flatten(&mut document, &known);
    document
}

fn operations(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    let items = paths.into_iter().flat_map(Object::values_mut).filter_map(Value::as_object_mut);
    items.flat_map(|item| item.values_mut()).filter(|operation| operation.get("responses").is_some())
}

/// One media type each way, and one shape for refusals.
fn answer_plainly(operation: &mut Value, known: &Value) {
    let answers = operation.get_mut("responses").and_then(Value::as_object_mut);
    for (status, answer) in answers.into_iter().flatten() {
        let name = answer.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
        if let Some(whole) = name.and_then(|name| known.get(name)) {
            *answer = whole.clone();
        }
        let Some(content) = answer.get_mut("content") else { continue };
        if status.starts_with(['4', '5']) {
            *content = json!({ "application/json": { "schema": { "$ref": format!("{SCHEMAS}{FAILURE}") } } });
        } else if !only(content, "application/json") {
            *content = json!({ "text/plain": { "schema": { "type": "string" } } });
        }
    }
    if let Some(answers) = operation.get_mut("responses").and_then(Value::as_object_mut) {
        // A client has one type for success: that of the answer which has a body.
        let is_whole =
            |(status, answer): (&String, &Value)| status.starts_with('2') && answer.get("content").is_some();
        if answers.iter().any(is_whole) {
            answers
                .retain(|status, answer| status.starts_with(['4', '5']) || answer.get("content").is_some());
        }
    }
    if let Some(content) = operation.pointer_mut("/requestBody/content") {
        only(content, "application/json");
    }
}

/// Leaves nothing but this media type, if it is there.
fn only(content: &mut Value, media_type: &str) -> bool {
    let Some(kept) = content.get(media_type).cloned() else { return false };
    *content = json!({ media_type: kept });
    true
}

fn is_null(schema: &Value) -> bool {
    schema["type"] == "null"
}

/// A member that may be null may be left out as well.
fn without_null(value: &mut Value) {
    let Some(object) = value.as_object_mut() else {
        value.as_array_mut().into_iter().flatten().for_each(without_null);
        return;
    };
    if let Some(properties) = object.get("properties").and_then(Value::as_object).cloned() {
        let is_nothing =
            |name: &Value| name.as_str().and_then(|name| properties.get(name)).is_some_and(is_null);
        if let Some(required) = object.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|name| !is_nothing(name));
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
                // Beside a reference nothing else counts.
                if one.get("$ref").is_some() {
                    object.clear();
                }
                object.extend(one.as_object().cloned().unwrap_or_default());
            }
            Err(_) => _ = object.insert(choice.to_owned(), Value::Array(branches)),
        }
    }
    let words = object.get("enum").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    // A value that is all signs can't be the name of a variant.
    let is_unnamed = words.into_iter().any(|word| !word.chars().any(char::is_alphanumeric));
    if is_unnamed || object.get("type").is_some_and(|kind| kind == "boolean") {
        object.remove("enum");
    }
    // A client that was made today reads what is added tomorrow.
    if object.get("additionalProperties").is_some_and(|other| *other == false) {
        object.remove("additionalProperties");
    }
    // Where a schema stands: elsewhere examples are those of OpenAPI itself.
    if object.contains_key("type") {
        NEWER.iter().for_each(|word| _ = object.remove(*word));
    }
    object.values_mut().for_each(without_null);
}

/// Makes one list of members of every object that is put together of others.
fn flatten(value: &mut Value, known: &Object) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| flatten(item, known)),
        Value::Object(object) => {
            if let Some(flat) = flat(object, known) {
                *object = flat;
            }
            object.values_mut().for_each(|inner| flatten(inner, known));
        }
        _ => {}
    }
}

/// A schema's members in one list, where it is put together of objects, and no tag tells them apart.
fn flat(object: &Object, known: &Object) -> Option<Object> {
    let is_composed = ["allOf", "oneOf", "anyOf"].iter().any(|word| object.contains_key(*word));
    if !is_composed || object.contains_key("discriminator") {
        return None;
    }
    let (properties, required) = members(object, known)?;
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

/// The members of an object, and those that are always there; none of what is no object.
fn members(object: &Object, known: &Object) -> Option<(Object, BTreeSet<String>)> {
    if let Some(path) = object.get("$ref").and_then(Value::as_str) {
        return members(known.get(path.strip_prefix(SCHEMAS)?)?.as_object()?, known);
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
        for part in parts {
            let (of_part, of_all) = members(part.as_object()?, known)?;
            properties.extend(of_part);
            always = Some(match always {
                None => of_all,
                Some(so_far) if is_all => so_far.union(&of_all).cloned().collect(),
                Some(so_far) => so_far.intersection(&of_all).cloned().collect(),
            });
        }
        required.extend(always.unwrap_or_default());
    }
    required.retain(|name| properties.contains_key(name));
    is_object.then_some((properties, required))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(schemas: Value) -> Value {
        plain(json!({ "openapi": "3.1.0", "paths": {}, "components": { "schemas": schemas } }))["components"]
            ["schemas"]
            .clone()
    }

    #[test]
    fn an_object_is_one_list_of_members() {
        let either = json!({ "oneOf": [
            { "type": "object", "required": ["A"], "properties": { "A": { "type": "string" } } },
            { "$ref": "#/components/schemas/B" },
        ] });
        let b = json!({ "type": "object", "required": ["B"], "properties": { "B": { "type": ["integer", "null"] } } });
        let both = json!({ "description": "d", "allOf": [
            { "$ref": "#/components/schemas/Either" },
            { "type": "object", "required": ["C"], "properties": { "C": { "oneOf": [{ "$ref": "#/components/schemas/B" }, { "type": "null" }] } } },
        ] });
        let plain = of(json!({ "Either": either, "B": b, "Both": both }));
        assert_eq!(
            plain["Both"],
            json!({ "description": "d", "type": "object", "required": ["C"], "properties": {
                "A": { "type": "string" }, "B": { "type": "integer" }, "C": { "$ref": "#/components/schemas/B" },
            } })
        );
        assert_eq!(plain["Either"].get("required"), None, "neither is always there");
    }

    #[test]
    fn what_a_tag_tells_apart_and_what_is_no_object_stays() {
        let tagged = json!({ "oneOf": [{ "$ref": "#/components/schemas/A" }], "discriminator": { "propertyName": "Kind" } });
        let value = json!({ "oneOf": [{ "type": "string" }, { "type": "boolean" }] });
        let plain = of(
            json!({ "A": { "type": "object", "properties": {} }, "Value": value, "Two": { "oneOf": [
            { "$ref": "#/components/schemas/A" }, { "$ref": "#/components/schemas/A" }], "discriminator": {} }, "Tagged": tagged }),
        );
        assert_eq!(plain["Value"], value);
        assert!(plain["Two"].get("oneOf").is_some());
    }
}
