//! Feedback on a turn.

#[cfg(feature = "openapi")]
use super::schemas;
use super::{
    body::{json_request, parse_body, validate},
    field_table::{Field, Scenario, Slot, documented, read_object, slot},
    json::Json,
    kind::{Kind, integer, line, text},
    limits::{MAX_LABEL_CHARS, MAX_NOTE_CHARS, MAX_RATING},
    violations::{Location, Violations},
};
use crate::error::Error;

/// A user's feedback on a turn. Replaces the user's earlier feedback. Created only by parsing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FeedbackRequest {
    /// The rating of the answer, from 1 (worst) to [`MAX_RATING`] (best).
    pub rating: u8,
    /// A short label for the reason, chosen by the client.
    pub label: Option<String>,
    /// A comment in the user's words.
    pub note: Option<String>,
}

#[derive(Default)]
struct Draft {
    rating: Option<u8>,
    label: Option<String>,
    note: Option<String>,
}

const FIELDS: &[Field<Draft>] = &[
    Field::required(
        "Rating",
        "Rating of the answer from 1 (worst) to 5 (best).",
        slot!(RATING, Draft, rating),
    ),
    Field::optional(
        "Label",
        "Short label for the reason, chosen by the client.",
        slot!(line(MAX_LABEL_CHARS), Draft, label),
    ),
    Field::optional(
        "Note",
        "Comment in the user's words.",
        &Slot(text(MAX_NOTE_CHARS), |draft: &mut Draft, note| {
            draft.note = note.filter(|note| !note.trim().is_empty());
        }),
    ),
];

const RATING: Kind<u8> = Kind {
    shape: integer::<u8>(1, MAX_RATING as i64),
    read: |shape, json, at, violations| {
        let rating = shape.integer(json);
        if rating.is_none() {
            violations.invalid(at, format_args!("must be a whole number from 1, the worst, to {MAX_RATING}"));
        }
        rating
    },
};

documented!(
    FeedbackRequest,
    "FeedbackRequest",
    schemas::object_schema(
        "A user's feedback on a turn. Replaces the user's earlier feedback.",
        FIELDS,
        Scenario::Feedback
    ),
    |all| schemas::collect(FIELDS, all)
);

json_request!(FeedbackRequest);

impl FeedbackRequest {
    /// Parses a JSON body.
    ///
    /// # Errors
    /// Every violation, in document order. Never empty.
    ///
    /// # Examples
    /// ```
    /// use contracts::request::FeedbackRequest;
    ///
    /// let feedback = FeedbackRequest::parse(br#"{"Rating": 5, "Label": "right"}"#).expect("a feedback");
    /// assert_eq!((feedback.rating, feedback.label.as_deref()), (5, Some("right")));
    /// assert!(FeedbackRequest::parse(br#"{"Rating": 6}"#).is_err());
    /// ```
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        validate(&parse_body(body)?, feedback)
    }
}

fn feedback(json: &Json<'_>, violations: &mut Violations) -> Option<FeedbackRequest> {
    let mut draft = Draft::default();
    read_object(json, FIELDS, Scenario::Feedback, &Location::ROOT, &mut draft, violations);
    Some(FeedbackRequest { rating: draft.rating?, label: draft.label, note: draft.note })
}
