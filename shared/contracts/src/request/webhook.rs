//! A replay of a webhook's deliveries.

#[cfg(feature = "openapi")]
use super::schemas;
use super::{
    body::{json_request, parse_body, validate},
    field_table::{Field, Scenario, documented, read_object, slot},
    json::Json,
    kind::{SESSION_ID, line},
    violations::{Location, Violations},
};
use crate::{Timestamp, error::Error, id::SessionId};

/// The length of a delivery's id.
const MAX_DELIVERY_ID_CHARS: usize = 64;
/// The longest time.
const MAX_TIME_CHARS: usize = 40;

json_request!(WebhookReplayRequest);

/// The deliveries to queue again. Created only by parsing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebhookReplayRequest {
    /// One delivery, in any state.
    One {
        /// The session of the event.
        session: SessionId,
        /// The id of the delivery.
        delivery: String,
    },
    /// Every dead delivery whose event is of this time or later.
    DeadSince(Timestamp),
}

#[derive(Default)]
struct Draft {
    session: Option<SessionId>,
    delivery: Option<String>,
    since: Option<String>,
}

const FIELDS: &[Field<Draft>] = &[
    Field::optional("SessionId", "Id of the session, with `DeliveryId`.", slot!(SESSION_ID, Draft, session)),
    Field::optional(
        "DeliveryId",
        "Id of the delivery. Absent: the dead deliveries since `Since`.",
        slot!(line(MAX_DELIVERY_ID_CHARS), Draft, delivery),
    ),
    Field::optional(
        "Since",
        "Time of the first event, such as `2026-11-29T21:00:00.000Z`. Absent: the delivery of `DeliveryId`.",
        slot!(line(MAX_TIME_CHARS), Draft, since),
    ),
];

documented!(
    WebhookReplayRequest,
    "WebhookReplayRequest",
    schemas::object_schema(
        "The deliveries to queue again: one, or the dead ones since a time.",
        FIELDS,
        Scenario::WebhookReplay
    ),
    |all| schemas::collect(FIELDS, all)
);

impl WebhookReplayRequest {
    /// Parses a JSON body.
    ///
    /// # Errors
    /// Every violation, in document order. Never empty.
    ///
    /// # Examples
    /// ```
    /// use contracts::request::WebhookReplayRequest;
    ///
    /// let one = br#"{"SessionId": "s1", "DeliveryId": "evt_9f"}"#;
    /// assert!(matches!(WebhookReplayRequest::parse(one), Ok(WebhookReplayRequest::One { .. })));
    /// assert!(WebhookReplayRequest::parse(br#"{"Since": "yesterday"}"#).is_err());
    /// assert!(WebhookReplayRequest::parse(b"{}").is_err());
    /// ```
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        validate(&parse_body(body)?, replay)
    }
}

fn replay(json: &Json<'_>, violations: &mut Violations) -> Option<WebhookReplayRequest> {
    let mut draft = Draft::default();
    read_object(json, FIELDS, Scenario::WebhookReplay, &Location::ROOT, &mut draft, violations);
    let violation = |violations: &mut Violations, member: &str, rule: &str| {
        violations.invalid(&Location::ROOT.member(member), rule);
        None
    };
    match (draft.session, draft.delivery, draft.since) {
        (Some(session), Some(delivery), None) => Some(WebhookReplayRequest::One { session, delivery }),
        (None, None, Some(since)) => match since.parse() {
            Ok(since) => Some(WebhookReplayRequest::DeadSince(since)),
            Err(_) => violation(violations, "Since", "must be a time, such as 2026-11-29T21:00:00.000Z"),
        },
        (None, Some(_), None) => violation(violations, "SessionId", "is required with DeliveryId"),
        _ => violation(
            violations,
            "Since",
            "is required without SessionId and DeliveryId, and forbidden with them",
        ),
    }
}
