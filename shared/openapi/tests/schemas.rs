//! The OpenAPI schemas of the wire types.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::Value;

fn all() -> Value {
    serde_json::to_value(openapi::schemas().into_iter().collect::<std::collections::BTreeMap<_, _>>())
        .unwrap()
}

#[test]
fn schemas_match_snapshot() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&all()).unwrap());
}

#[test]
fn every_reference_resolves() {
    fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str));
                members.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }
    let all = all();
    let mut found = Vec::new();
    references(&all, &mut found);
    assert!(!found.is_empty());
    for reference in found {
        let name = reference.strip_prefix("#/components/schemas/").unwrap();
        assert!(all.get(name).is_some(), "{reference}");
    }
}
