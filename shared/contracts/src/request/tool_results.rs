//! Results of client tools.
//!
//! Deliberately absent: the check that results match calls. It needs the turn.

#[cfg(feature = "openapi")]
use super::schemas;
use super::{
    field_table::{Field, Scenario, Slot, documented, read_object, slot},
    json::Json,
    kind::{Kind, Shape, ToolCallId, named},
    limits::{
        MAX_ERROR_MESSAGE_CHARS, MAX_RESULT_JSON_CHARS, MAX_SAFE_INTEGER, MAX_TOOL_CALL_ID_CHARS,
        MAX_TOOL_RESULTS,
    },
    value::{line, list, text},
    violations::{Location, Violations},
};
use crate::{
    error::ErrorCode,
    non_empty::NonEmpty,
    response::{ToolOutcome, ToolResult},
    schema::Schema,
};

#[derive(Default)]
struct Draft {
    tool_call_id: Option<String>,
    execution_ms: Option<u64>,
    // One entry per outcome that is present, `None` if it was invalid.
    outcomes: Vec<Option<ToolOutcome>>,
}

const TOOL_CALL_ID: Field<Draft> =
    Field::required("ToolCallId", "Id of the tool call.", slot!(ID, Draft, tool_call_id));
const EXECUTION_MS: Field<Draft> = Field::required(
    "ExecutionMs",
    "Execution time in milliseconds. Fractions are rounded.",
    slot!(MILLISECONDS, Draft, execution_ms),
);
const RESULT_JSON: Field<Draft> = Field::optional(
    "ResultJson",
    "Result, as a JSON text.",
    &Slot(JSON_TEXT, |draft: &mut Draft, result| {
        draft.outcomes.push(result.map(ToolOutcome::ResultJson));
    }),
);
const ERROR_MESSAGE: Field<Draft> = Field::optional(
    "ErrorMessage",
    "Error message.",
    &Slot(MESSAGE, |draft: &mut Draft, message| {
        draft.outcomes.push(message.map(ToolOutcome::ErrorMessage));
    }),
);
const FIELDS: &[Field<Draft>] = &[TOOL_CALL_ID, EXECUTION_MS, RESULT_JSON, ERROR_MESSAGE];

/// The results of a turn's tool calls.
pub(super) const TOOL_RESULTS: Kind<NonEmpty<ToolResult>> = Kind {
    shape: Shape::List { items: Schema::of::<Submitted>("SubmittedResult"), min: 1, max: MAX_TOOL_RESULTS },
    read: |shape, json, at, violations| {
        let results = list(json, shape.max(), at, violations, result)?;
        NonEmpty::new(results).map_err(|empty| violations.invalid(at, empty)).ok()
    },
};

const ID: Kind<String> = named(Schema::of::<ToolCallId>("ToolCallId"), |_, json, at, violations| {
    line(json, MAX_TOOL_CALL_ID_CHARS, at, violations).map(str::to_owned)
});

const MILLISECONDS: Kind<u64> = Kind {
    shape: Shape::Milliseconds { max: MAX_SAFE_INTEGER },
    read: |_, json, at, violations| {
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
    },
};

const JSON_TEXT: Kind<String> = Kind {
    shape: Shape::Text {
        max_chars: MAX_RESULT_JSON_CHARS,
        pattern: Some(r#"^[ \t\r\n]*[\[{"tfn0-9-]"#),
        media_type: Some("application/json"),
    },
    read: |shape, json, at, violations| {
        let text = text(json, shape.max(), at, violations)?;
        // Only validates the JSON. The model gets the text as it was sent.
        if serde_json::from_str::<serde::de::IgnoredAny>(text).is_err() {
            violations.invalid(at, "must be a string that holds one JSON text");
            return None;
        }
        Some(text.to_owned())
    },
};

const MESSAGE: Kind<String> = Kind {
    shape: Shape::Text { max_chars: MAX_ERROR_MESSAGE_CHARS, pattern: Some(r"\S"), media_type: None },
    read: |shape, json, at, violations| {
        let text = text(json, shape.max(), at, violations)?;
        if text.trim().is_empty() {
            violations.invalid(at, "must say what failed, it is blank");
            return None;
        }
        Some(text.to_owned())
    },
};

/// Schema of a result: that of one of its outcomes, which the document describes one by one.
struct Submitted;
#[cfg(feature = "openapi")]
struct Returned;
#[cfg(feature = "openapi")]
struct Failed;

documented!(
    Submitted,
    "SubmittedResult",
    schemas::one_of(
        "The result of a client tool: exactly one of `ResultJson` and `ErrorMessage`.",
        [
            ("ReturnedResult", "A successful tool call."),
            ("FailedResult", "A failed tool call. A failure is a valid result."),
        ]
    ),
    |all| {
        for schema in [Schema::of::<Returned>("ReturnedResult"), Schema::of::<Failed>("FailedResult")] {
            (schema.collect)(schema.name, all);
        }
    }
);
documented!(
    Returned,
    "ReturnedResult",
    schemas::object_schema(
        "A successful tool call.",
        &[TOOL_CALL_ID, EXECUTION_MS, RESULT_JSON.always()],
        Scenario::ToolContinuation
    ),
    |all| schemas::collect(FIELDS, all)
);
documented!(
    Failed,
    "FailedResult",
    schemas::object_schema(
        "A failed tool call.",
        &[TOOL_CALL_ID, EXECUTION_MS, ERROR_MESSAGE.always()],
        Scenario::ToolContinuation
    ),
    |all| schemas::collect(FIELDS, all)
);

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

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is positive, and a cast of a float saturates"
)]
fn round_millis(millis: f64) -> u64 {
    millis.round() as u64
}
