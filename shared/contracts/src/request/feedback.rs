//! Feedback on a turn.

use super::{
    body::{parse_body, validate},
    field_table::{Field, Scenario, read_object},
    json::Json,
    limits::{MAX_LABEL_CHARS, MAX_NOTE_CHARS, MAX_RATING},
    value::{line, text},
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

#[rustfmt::skip]
const FIELDS: &[Field<Draft>] = &[
    Field::required("Rating", |json, at, draft, violations| {
        draft.rating = rating(json, at, violations);
    }),
    Field::optional("Label", |json, at, draft, violations| {
        draft.label = line(json, MAX_LABEL_CHARS, at, violations).map(str::to_owned);
    }),
    Field::optional("Note", |json, at, draft, violations| {
        draft.note = text(json, MAX_NOTE_CHARS, at, violations).map(str::to_owned).filter(|note| !note.trim().is_empty());
    }),
];

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

fn rating(json: &Json<'_>, at: &Location<'_>, violations: &mut Violations) -> Option<u8> {
    let rating = match json {
        Json::Integer(number) => {
            u8::try_from(*number).ok().filter(|number| (1..=MAX_RATING).contains(number))
        }
        _ => None,
    };
    if rating.is_none() {
        violations.invalid(at, format_args!("must be a whole number from 1, the worst, to {MAX_RATING}"));
    }
    rating
}
