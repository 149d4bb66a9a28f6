//! Validation against the published request schemas, `schema/*.json`; see the README beside them.
//!
//! The schema uses `anyOf` without a discriminator for kinds of items, parts and tools. For a value that matches
//! none, the error is about the likeliest variant: the one with the same `type`, then the one with the fewest
//! violations.

use std::cmp::Reverse;
use std::sync::LazyLock;

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

use crate::refusal::Refusal;

/// A schema that is compiled once, on its first request.
pub type Schema = LazyLock<Result<Validator, String>>;

/// Compiles a schema.
pub fn compile(text: &str) -> Result<Validator, String> {
    let schema: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    jsonschema::options().build(&schema).map_err(|error| error.to_string())
}

/// Refuses a body that violates the schema, with a JSON pointer to the violation.
pub fn check(schema: &Schema, body: &Value) -> Result<(), Refusal> {
    let schema = schema.as_ref().map_err(|error| Refusal {
        status: 500,
        ..Refusal::invalid("schema", "", format!("The schema of requests can't be compiled: {error}"))
    })?;
    match schema.iter_errors(body).next() {
        None => Ok(()),
        Some(violation) => Err(refusal(likeliest_violation(&violation))),
    }
}

/// Returns the violation within the variant that was most likely meant.
fn likeliest_violation<'a>(violation: &'a ValidationError<'_>) -> &'a ValidationError<'a> {
    let Kind::AnyOf { context } = violation.kind() else {
        return violation;
    };
    let at = depth(violation);
    // `max_by_key` returns the last of equals, so reverse to get the first.
    let candidates = context.iter().rev().filter_map(|kind| {
        let another = kind.iter().any(|violation| is_type_mismatch(violation, at));
        let deepest = kind
            .iter()
            .rev()
            .map(likeliest_violation)
            .max_by_key(|violation| (depth(violation), weight(violation)))?;
        Some(((!another, Reverse(kind.len()), depth(deepest)), deepest))
    });
    candidates.max_by_key(|(likelihood, _)| *likelihood).map_or(violation, |(_, violation)| violation)
}

/// True if the violation says that the value at this depth has another type.
fn is_type_mismatch(violation: &ValidationError<'_>, at: usize) -> bool {
    let path = violation.instance_path().to_string();
    match violation.kind() {
        Kind::Type { .. } => depth(violation) == at,
        Kind::Constant { .. } | Kind::Enum { .. } => depth(violation) == at + 1 && path.ends_with("/type"),
        Kind::Required { property } => property == "type",
        _ => false,
    }
}

fn depth(violation: &ValidationError<'_>) -> usize {
    violation.instance_path().to_string().matches('/').count()
}

/// Ranks violations: a missing member explains more than an extra one.
fn weight(violation: &ValidationError<'_>) -> u8 {
    u8::from(matches!(violation.kind(), Kind::Required { .. }))
}

fn refusal(violation: &ValidationError<'_>) -> Refusal {
    let pointer = violation.instance_path().to_string();
    let (code, member) = match violation.kind() {
        Kind::Required { property } => ("missing_required_parameter", property.as_str()),
        Kind::AdditionalProperties { unexpected } => {
            ("unknown_parameter", unexpected.first().map(String::as_str))
        }
        Kind::Type { .. } => ("invalid_type", None),
        _ => ("invalid_value", None),
    };
    let param = param(&pointer, member);
    let message = format!("Invalid '{param}': at {pointer:?}, {}.", violation.masked());
    Refusal::invalid(code, &param, message)
}

/// Converts a pointer `/input/0/content` to the form of the API, `input[0].content`.
fn param(pointer: &str, member: Option<&str>) -> String {
    let mut named = String::new();
    for part in pointer.split('/').skip(1).chain(member) {
        match part.parse::<usize>() {
            Ok(index) => named.push_str(&format!("[{index}]")),
            Err(_) if named.is_empty() => named.push_str(part),
            Err(_) => named.push_str(&format!(".{part}")),
        }
    }
    named
}
