//! The published schema of a request: `schema/create-response.json`, see the page beside it.
//!
//! The schema says "any of these" wherever there are kinds of items, parts or tools, and nothing of what tells
//! them apart. Of a value that fits none, the kind that it most likely meant is reported: one whose `type` it has,
//! and of several the one with the fewest misfits.

use std::cmp::Reverse;
use std::sync::LazyLock;

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

use crate::refusal::Refusal;

/// Compiled when the first request comes, and once.
static SCHEMA: LazyLock<Result<Validator, String>> = LazyLock::new(|| {
    let schema: Value = serde_json::from_str(include_str!("../schema/create-response.json"))
        .map_err(|error| error.to_string())?;
    jsonschema::options().build(&schema).map_err(|error| error.to_string())
});

/// Refuses a body that does not fit, naming the place by a JSON pointer.
pub(crate) fn check(body: &Value) -> Result<(), Refusal> {
    let schema = SCHEMA.as_ref().map_err(|error| Refusal {
        status: 500,
        ..Refusal::invalid("schema", "", format!("The schema of requests can't be compiled: {error}"))
    })?;
    match schema.iter_errors(body).next() {
        None => Ok(()),
        Some(misfit) => Err(refusal(meant(&misfit))),
    }
}

/// Returns the violation within the variant that was most likely meant.
fn meant<'a>(misfit: &'a ValidationError<'_>) -> &'a ValidationError<'a> {
    let Kind::AnyOf { context } = misfit.kind() else {
        return misfit;
    };
    let at = depth(misfit);
    // The first of equals, for which `max` has to meet it last.
    let likeliest = context.iter().rev().filter_map(|kind| {
        let another = kind.iter().any(|misfit| is_of_another_kind(misfit, at));
        let deepest = kind.iter().rev().map(meant).max_by_key(|misfit| (depth(misfit), weight(misfit)))?;
        Some(((!another, Reverse(kind.len()), depth(deepest)), deepest))
    });
    likeliest.max_by_key(|(likelihood, _)| *likelihood).map_or(misfit, |(_, misfit)| misfit)
}

/// True if the violation says that the value at this depth has another type.
fn is_of_another_kind(misfit: &ValidationError<'_>, at: usize) -> bool {
    let path = misfit.instance_path().to_string();
    match misfit.kind() {
        Kind::Type { .. } => depth(misfit) == at,
        Kind::Constant { .. } | Kind::Enum { .. } => depth(misfit) == at + 1 && path.ends_with("/type"),
        Kind::Required { property } => property == "type",
        _ => false,
    }
}

fn depth(misfit: &ValidationError<'_>) -> usize {
    misfit.instance_path().to_string().matches('/').count()
}

/// Ranks violations: a missing member explains more than an extra one.
fn weight(misfit: &ValidationError<'_>) -> u8 {
    u8::from(matches!(misfit.kind(), Kind::Required { .. }))
}

fn refusal(misfit: &ValidationError<'_>) -> Refusal {
    let pointer = misfit.instance_path().to_string();
    let (code, member) = match misfit.kind() {
        Kind::Required { property } => ("missing_required_parameter", property.as_str()),
        Kind::AdditionalProperties { unexpected } => {
            ("unknown_parameter", unexpected.first().map(String::as_str))
        }
        Kind::Type { .. } => ("invalid_type", None),
        _ => ("invalid_value", None),
    };
    let param = param(&pointer, member);
    let message = format!("Invalid '{param}': at {pointer:?}, {}.", misfit.masked());
    Refusal::invalid(code, &param, message)
}

/// `/input/0/content` as the API names it: `input[0].content`.
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
