//! What a user says of a turn.

use super::{
    json::Json,
    limits::{MAX_LABEL_CHARS, MAX_NOTE_CHARS, MAX_RATING},
    report::{At, Report},
    table::{Member, Scenario, read_object},
    value::{line, text},
};
use crate::error::Error;

/// What a user says of a turn, in the place of what that user said before. Only parsing makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FeedbackRequest {
    /// How good the answer was: 1 is worst, [`MAX_RATING`] best.
    pub rating: u8,
    /// A word for why, of the client's own choice.
    pub label: Option<String>,
    /// The user's own words.
    pub note: Option<String>,
}

#[derive(Default)]
struct Draft {
    rating: Option<u8>,
    label: Option<String>,
    note: Option<String>,
}

#[rustfmt::skip]
const MEMBERS: &[Member<Draft>] = &[
    Member::required("Rating", |json, at, draft, report| {
        draft.rating = rating(json, at, report);
    }),
    Member::optional("Label", |json, at, draft, report| {
        draft.label = line(json, MAX_LABEL_CHARS, at, report).map(str::to_owned);
    }),
    Member::optional("Note", |json, at, draft, report| {
        draft.note = text(json, MAX_NOTE_CHARS, at, report).map(str::to_owned).filter(|note| !note.trim().is_empty());
    }),
];

impl FeedbackRequest {
    /// Reads a JSON body.
    ///
    /// # Errors
    /// Every violation, in document order; never none.
    ///
    /// # Examples
    /// ```
    /// use contracts::request::FeedbackRequest;
    ///
    /// let said = FeedbackRequest::parse(br#"{"Rating": 5, "Label": "right"}"#).expect("a feedback");
    /// assert_eq!((said.rating, said.label.as_deref()), (5, Some("right")));
    /// assert!(FeedbackRequest::parse(br#"{"Rating": 6}"#).is_err());
    /// ```
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        super::checked(&super::within_limit(body)?, feedback)
    }
}

fn feedback(json: &Json<'_>, report: &mut Report) -> Option<FeedbackRequest> {
    let mut draft = Draft::default();
    read_object(json, MEMBERS, Scenario::Feedback, &At::ROOT, &mut draft, report);
    Some(FeedbackRequest { rating: draft.rating?, label: draft.label, note: draft.note })
}

fn rating(json: &Json<'_>, at: &At<'_>, report: &mut Report) -> Option<u8> {
    let rating = match json {
        Json::Integer(number) => {
            u8::try_from(*number).ok().filter(|number| (1..=MAX_RATING).contains(number))
        }
        _ => None,
    };
    if rating.is_none() {
        report.invalid(at, format_args!("must be a whole number from 1, the worst, to {MAX_RATING}"));
    }
    rating
}
