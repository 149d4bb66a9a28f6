//! Answers to approvals.

#[cfg(feature = "openapi")]
use super::schemas;
use super::{
    body::{json_request, parse_body, validate},
    field_table::{Field, Scenario, documented, read_object, slot},
    json::Json,
    kind::{Kind, Shape, text},
    limits::MAX_NOTE_CHARS,
    value,
    violations::{Location, Violations},
};
use crate::{error::Error, hash::Fingerprint};

/// The longest arguments, in characters.
const MAX_ARGUMENTS_CHARS: usize = 65_536;
/// The length of a hash.
const HASH_CHARS: usize = 64;

json_request!(ApproveRequest);
json_request!(DenyRequest);

/// The hash of a call.
const HASH: Kind<Fingerprint> = Kind {
    shape: Shape::Text { max_chars: HASH_CHARS, pattern: Some("^[0-9a-f]{64}$"), media_type: None },
    read: |shape, json, at, violations| {
        let hash = value::text(json, shape.max(), at, violations)?.parse().ok();
        if hash.is_none() {
            violations.invalid(at, "must be the Hash of the approval: 64 hexadecimal digits");
        }
        hash
    },
};

/// The approval of a call. Created only by parsing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApproveRequest {
    /// The hash of the call that the person saw.
    pub hash: Fingerprint,
    /// Other arguments, as JSON text.
    pub arguments: Option<String>,
}

#[derive(Default)]
struct ApproveDraft {
    hash: Option<Fingerprint>,
    arguments: Option<String>,
}

const APPROVE_FIELDS: &[Field<ApproveDraft>] = &[
    Field::required(
        "Hash",
        "Hash of the call that the caller saw. Another one is refused.",
        slot!(HASH, ApproveDraft, hash),
    ),
    Field::optional(
        "ArgumentsJson",
        "Arguments to send in place of the model's: a JSON object as text. Only if the tool's policy allows it.",
        slot!(text(MAX_ARGUMENTS_CHARS), ApproveDraft, arguments),
    ),
];

documented!(
    ApproveRequest,
    "ApproveRequest",
    schemas::object_schema("The approval of a call.", APPROVE_FIELDS, Scenario::Approval),
    |all| schemas::collect(APPROVE_FIELDS, all)
);

impl ApproveRequest {
    /// Parses a JSON body.
    ///
    /// # Errors
    /// Every violation, in document order. Never empty.
    ///
    /// # Examples
    /// ```
    /// use contracts::request::ApproveRequest;
    ///
    /// let body = format!(r#"{{"Hash": "{}"}}"#, "0a".repeat(32));
    /// assert_eq!(ApproveRequest::parse(body.as_bytes()).expect("an approval").arguments, None);
    /// assert!(ApproveRequest::parse(br#"{"Hash": "0a"}"#).is_err());
    /// ```
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        validate(&parse_body(body)?, approve)
    }
}

fn approve(json: &Json<'_>, violations: &mut Violations) -> Option<ApproveRequest> {
    let mut draft = ApproveDraft::default();
    read_object(json, APPROVE_FIELDS, Scenario::Approval, &Location::ROOT, &mut draft, violations);
    Some(ApproveRequest { hash: draft.hash?, arguments: draft.arguments })
}

/// The denial of a call. Created only by parsing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DenyRequest {
    /// The hash of the call that the person saw.
    pub hash: Option<Fingerprint>,
    /// The reason, for the model.
    pub reason: Option<String>,
}

#[derive(Default)]
struct DenyDraft {
    hash: Option<Fingerprint>,
    reason: Option<String>,
}

const DENY_FIELDS: &[Field<DenyDraft>] = &[
    Field::optional(
        "Hash",
        "Hash of the call that the caller saw. If given, another one is refused.",
        slot!(HASH, DenyDraft, hash),
    ),
    Field::optional(
        "Reason",
        "Reason, which the model gets.",
        slot!(text(MAX_NOTE_CHARS), DenyDraft, reason),
    ),
];

documented!(
    DenyRequest,
    "DenyRequest",
    schemas::object_schema("The denial of a call.", DENY_FIELDS, Scenario::Denial),
    |all| schemas::collect(DENY_FIELDS, all)
);

impl DenyRequest {
    /// Parses a JSON body.
    ///
    /// # Errors
    /// Every violation, in document order. Never empty.
    ///
    /// # Examples
    /// ```
    /// use contracts::request::DenyRequest;
    ///
    /// let denial = DenyRequest::parse(br#"{"Reason": "Ask the customer first."}"#).expect("a denial");
    /// assert_eq!(denial.reason.as_deref(), Some("Ask the customer first."));
    /// assert!(DenyRequest::parse(br#"{"Reason": 1}"#).is_err());
    /// ```
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        validate(&parse_body(body)?, deny)
    }
}

fn deny(json: &Json<'_>, violations: &mut Violations) -> Option<DenyRequest> {
    let mut draft = DenyDraft::default();
    read_object(json, DENY_FIELDS, Scenario::Denial, &Location::ROOT, &mut draft, violations);
    let reason = draft.reason.filter(|reason| !reason.trim().is_empty());
    Some(DenyRequest { hash: draft.hash, reason })
}
