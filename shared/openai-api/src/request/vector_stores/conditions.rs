//! Attributes of files, and filters on them, as the service's own conditions.

use contracts::request::{KnowledgeAttribute, RagCondition, limits::MAX_KNOWLEDGE_ATTRIBUTES, parse_scope};
use serde_json::{Value, json};

use crate::{error::ApiError, request::Members};

/// Reads `attributes`.
pub(super) fn attributes(members: &Members<'_>) -> Result<Vec<KnowledgeAttribute>, ApiError> {
    let Some(value) = members.get("attributes") else { return Ok(Vec::new()) };
    let Value::Object(pairs) = value else { return Err(members.rule("attributes", "must be an object")) };
    if pairs.len() > MAX_KNOWLEDGE_ATTRIBUTES {
        return Err(members.rule("attributes", "may have 16 members"));
    }
    let attribute = |(key, value): (&String, &Value)| {
        let at = format!("attributes.{key}");
        let conditions = parse(&at, vec![json!({"Key": key, "Operator": "==", "Values": [value]})])?;
        let RagCondition { key, values, .. } =
            conditions.into_iter().next().ok_or_else(|| ApiError::value(&at, "is invalid"))?;
        Ok(KnowledgeAttribute { key, values })
    };
    pairs.iter().map(attribute).collect()
}

/// Reads `filters`: comparisons for equality, and any of them combined with `and`.
pub(in crate::request) fn filters(members: &Members<'_>) -> Result<Vec<RagCondition>, ApiError> {
    let Some(filter) = members.get("filters") else { return Ok(Vec::new()) };
    let path = members.param("filters");
    let mut conditions = Vec::new();
    collect(filter, &path, &mut conditions)?;
    parse(&path, conditions)
}

fn collect(filter: &Value, path: &str, conditions: &mut Vec<Value>) -> Result<(), ApiError> {
    let kind = filter.get("type").and_then(Value::as_str).unwrap_or_default();
    let operator = match kind {
        "and" => {
            let members = Members::read(filter, path, &["type", "filters"])?;
            // Nested ones are collected to the same list, so a deeper one needs no other treatment.
            return members
                .list("filters")?
                .iter()
                .enumerate()
                .try_for_each(|(n, inner)| collect(inner, &format!("{path}.filters[{n}]"), conditions));
        }
        "eq" | "in" => "==",
        "ne" | "nin" => "!=",
        _ => {
            let alternative = "Use 'eq', 'ne', 'in', 'nin' or 'and'.";
            return Err(ApiError::unsupported(&format!("{path}.type"), alternative));
        }
    };
    let members = Members::read(filter, path, &["type", "key", "value"])?;
    let key = members.required_text("key")?;
    let value = members.get("value").ok_or_else(|| members.missing("value"))?;
    let values = match (kind, value) {
        ("in" | "nin", Value::Array(values)) => values.clone(),
        ("in" | "nin", _) => return Err(members.rule("value", "must be an array")),
        (_, value) => vec![value.clone()],
    };
    conditions.push(json!({"Key": key, "Operator": operator, "Values": values}));
    Ok(())
}

/// Checks conditions by the rules of a `RagScope`.
fn parse(path: &str, conditions: Vec<Value>) -> Result<Vec<RagCondition>, ApiError> {
    if conditions.is_empty() {
        return Ok(Vec::new());
    }
    parse_scope(json!({"Conditions": conditions}).to_string().as_bytes()).map_err(|errors| {
        let reason = errors.into_iter().next().map(|error| error.message).unwrap_or_default();
        ApiError::invalid(path, "invalid_value", format!("Invalid value: '{path}'. {reason}"))
    })
}
