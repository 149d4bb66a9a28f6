//! What the client's tools returned (AGN-034 §5, AGN-033 §5.2).
//!
//! Deliberately absent: whether the results match the calls. Only code that has the turn can tell.

use super::{
    json::Json,
    limits::{MAX_ERROR_MESSAGE_CHARS, MAX_RESULT_JSON_CHARS, MAX_TOOL_CALL_ID_CHARS, MAX_TOOL_RESULTS},
    report::{At, Report},
    table::{Member, Scenario, read_object},
    value::{line, list, text},
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
    // One entry per outcome that is present; None for one that was refused.
    outcomes: Vec<Option<ToolOutcome>>,
}

const MEMBERS: &[Member<Draft>] = &[
    Member::required("ToolCallId", |json, at, draft, report| {
        draft.tool_call_id = line(json, MAX_TOOL_CALL_ID_CHARS, at, report).map(str::to_owned);
    }),
    Member::required("ExecutionMs", |json, at, draft, report| {
        draft.execution_ms = milliseconds(json, at, report);
    }),
    Member::optional("ResultJson", |json, at, draft, report| {
        draft.outcomes.push(result_json(json, at, report));
    }),
    Member::optional("ErrorMessage", |json, at, draft, report| {
        draft.outcomes.push(error_message(json, at, report));
    }),
];

/// Reads `ToolResults`.
pub(super) fn read(json: &Json<'_>, at: &At<'_>, report: &mut Report) -> Option<NonEmpty<ToolResult>> {
    let results = list(json, MAX_TOOL_RESULTS, at, report, result)?;
    NonEmpty::new(results).map_err(|empty| report.invalid(at, empty)).ok()
}

fn result(json: &Json<'_>, at: &At<'_>, report: &mut Report) -> Option<ToolResult> {
    let mut draft = Draft::default();
    read_object(json, MEMBERS, Scenario::ToolContinuation, at, &mut draft, report);
    let mut outcomes = draft.outcomes.into_iter();
    let outcome = match (outcomes.next(), outcomes.next()) {
        (Some(outcome), None) => outcome,
        (Some(_), Some(_)) => {
            report.add(
                ErrorCode::MemberForbidden,
                at,
                "must hold exactly one of ResultJson and ErrorMessage, it holds both",
            );
            None
        }
        // A result that is not an object was refused for that already.
        (None, _) if matches!(json, Json::Object(_)) => {
            report.add(
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

fn milliseconds(json: &Json<'_>, at: &At<'_>, report: &mut Report) -> Option<u64> {
    let millis = match json {
        Json::Integer(millis) => u64::try_from(*millis).ok(),
        // What a clock of high resolution tells: the nearest whole number is kept.
        Json::Fraction(millis) if *millis >= 0.0 => Some(whole(*millis)),
        _ => None,
    };
    if millis.is_none() {
        report.invalid(at, "must be a number of milliseconds, zero or more");
    }
    millis
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is positive, and a cast of a float saturates"
)]
fn whole(millis: f64) -> u64 {
    millis.round() as u64
}

fn result_json(json: &Json<'_>, at: &At<'_>, report: &mut Report) -> Option<ToolOutcome> {
    let text = text(json, MAX_RESULT_JSON_CHARS, at, report)?;
    // The value itself is not kept: the model gets the text as it was sent.
    if serde_json::from_str::<serde::de::IgnoredAny>(text).is_err() {
        report.invalid(at, "must be a string that holds one JSON text");
        return None;
    }
    Some(ToolOutcome::ResultJson(text.to_owned()))
}

fn error_message(json: &Json<'_>, at: &At<'_>, report: &mut Report) -> Option<ToolOutcome> {
    let text = text(json, MAX_ERROR_MESSAGE_CHARS, at, report)?;
    if text.trim().is_empty() {
        report.invalid(at, "must say what failed, it is blank");
        return None;
    }
    Some(ToolOutcome::ErrorMessage(text.to_owned()))
}
