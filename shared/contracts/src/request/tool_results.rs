//! Results of client tools.
//!
//! Deliberately absent: the check that results match calls. It needs the turn.

use super::{
    field_table::{Field, Scenario, read_object},
    json::Json,
    limits::{MAX_ERROR_MESSAGE_CHARS, MAX_RESULT_JSON_CHARS, MAX_TOOL_CALL_ID_CHARS, MAX_TOOL_RESULTS},
    value::{line, list, text},
    violations::{Location, Violations},
};
use crate::{
    error::ErrorCode,
    non_empty::NonEmpty,
    response::{ToolOutcome, ToolResult},
};

#[derive(Default)]
struct Draft {
    tool_call_id: Option<String>,
    execution_ms: Option<u64>,
    // One entry per outcome that is present, `None` if it was invalid.
    outcomes: Vec<Option<ToolOutcome>>,
}

const FIELDS: &[Field<Draft>] = &[
    Field::required("ToolCallId", |json, at, draft, violations| {
        draft.tool_call_id = line(json, MAX_TOOL_CALL_ID_CHARS, at, violations).map(str::to_owned);
    }),
    Field::required("ExecutionMs", |json, at, draft, violations| {
        draft.execution_ms = milliseconds(json, at, violations);
    }),
    Field::optional("ResultJson", |json, at, draft, violations| {
        draft.outcomes.push(result_json(json, at, violations));
    }),
    Field::optional("ErrorMessage", |json, at, draft, violations| {
        draft.outcomes.push(error_message(json, at, violations));
    }),
];

/// Reads `ToolResults`.
pub(super) fn read(
    json: &Json<'_>,
    at: &Location<'_>,
    violations: &mut Violations,
) -> Option<NonEmpty<ToolResult>> {
    let results = list(json, MAX_TOOL_RESULTS, at, violations, result)?;
    NonEmpty::new(results).map_err(|empty| violations.invalid(at, empty)).ok()
}

fn result(json: &Json<'_>, at: &Location<'_>, violations: &mut Violations) -> Option<ToolResult> {
    let mut draft = Draft::default();
    read_object(json, FIELDS, Scenario::ToolContinuation, at, &mut draft, violations);
    let mut outcomes = draft.outcomes.into_iter();
    let outcome = match (outcomes.next(), outcomes.next()) {
        (Some(outcome), None) => outcome,
        (Some(_), Some(_)) => {
            violations.add(
                ErrorCode::MemberForbidden,
                at,
                "must hold exactly one of ResultJson and ErrorMessage, it holds both",
            );
            None
        }
        // A result that is not an object is already reported.
        (None, _) if matches!(json, Json::Object(_)) => {
            violations.add(
                ErrorCode::MemberRequired,
                at,
                "must hold exactly one of ResultJson and ErrorMessage, it holds neither",
            );
            None
        }
        (None, _) => None,
    };
    Some(ToolResult {
        tool_call_id: draft.tool_call_id?,
        execution_ms: draft.execution_ms?,
        outcome: outcome?,
    })
}

fn milliseconds(json: &Json<'_>, at: &Location<'_>, violations: &mut Violations) -> Option<u64> {
    let millis = match json {
        Json::Integer(millis) => u64::try_from(*millis).ok(),
        // High-resolution clocks return fractions. Rounds to the nearest whole number.
        Json::Fraction(millis) if *millis >= 0.0 => Some(round_millis(*millis)),
        _ => None,
    };
    if millis.is_none() {
        violations.invalid(at, "must be a number of milliseconds, zero or more");
    }
    millis
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is positive, and a cast of a float saturates"
)]
fn round_millis(millis: f64) -> u64 {
    millis.round() as u64
}

fn result_json(json: &Json<'_>, at: &Location<'_>, violations: &mut Violations) -> Option<ToolOutcome> {
    let text = text(json, MAX_RESULT_JSON_CHARS, at, violations)?;
    // Only validates the JSON. The model gets the text as it was sent.
    if serde_json::from_str::<serde::de::IgnoredAny>(text).is_err() {
        violations.invalid(at, "must be a string that holds one JSON text");
        return None;
    }
    Some(ToolOutcome::ResultJson(text.to_owned()))
}

fn error_message(json: &Json<'_>, at: &Location<'_>, violations: &mut Violations) -> Option<ToolOutcome> {
    let text = text(json, MAX_ERROR_MESSAGE_CHARS, at, violations)?;
    if text.trim().is_empty() {
        violations.invalid(at, "must say what failed, it is blank");
        return None;
    }
    Some(ToolOutcome::ErrorMessage(text.to_owned()))
}
