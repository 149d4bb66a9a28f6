//! The secret of a connection, a call of one of its tools, and a comparison with its server.

use std::fmt;

#[cfg(feature = "openapi")]
use super::schemas;
use super::{
    body::{json_request, parse_body, validate},
    field_table::{Field, Scenario, documented, read_object, slot},
    json::Json,
    kind::{Kind, Shape, line, text},
    value,
    violations::{Location, Violations},
};
use crate::error::Error;

/// The longest secret, in characters.
const MAX_SECRET_CHARS: usize = 8_192;
/// The longest name of a tool, with its connection and without.
const MAX_TOOL_CHARS: usize = 97;
/// The longest arguments, in characters.
const MAX_ARGUMENTS_CHARS: usize = 65_536;
/// The most names of accepted tools.
const MAX_ACCEPTED: usize = 512;
/// The length of a hash.
const HASH_CHARS: usize = 64;
/// The longest OpenAPI document, in characters.
const MAX_DOCUMENT_CHARS: usize = 2_000_000;

json_request!(ConnectionSecretRequest);
json_request!(ToolTrialRequest);
json_request!(ConnectionRefreshRequest);

/// The secret of a connection. Created only by parsing, so it can be the value of a header.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionSecretRequest {
    /// The secret.
    pub value: String,
}

/// Hides the secret.
impl fmt::Debug for ConnectionSecretRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionSecretRequest").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct SecretDraft {
    value: Option<String>,
}

/// A value of a header. The violation never repeats it.
const SECRET: Kind<String> = Kind {
    shape: Shape::Text { max_chars: MAX_SECRET_CHARS, pattern: Some("^[!-~]+$"), media_type: None },
    read: |shape, json, at, violations| {
        let secret = value::text(json, shape.max(), at, violations)?;
        let is_valid = !secret.is_empty() && secret.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_valid {
            violations.invalid(at, "must be printable ASCII without spaces, as it is sent in a header");
        }
        is_valid.then(|| secret.to_owned())
    },
};

const SECRET_FIELDS: &[Field<SecretDraft>] = &[Field::required(
    "Value",
    "The secret: printable ASCII without spaces. It can't be read again.",
    slot!(SECRET, SecretDraft, value),
)];

documented!(
    ConnectionSecretRequest,
    "ConnectionSecretRequest",
    schemas::object_schema("The secret of a connection.", SECRET_FIELDS, Scenario::ConnectionSecret),
    |all| schemas::collect(SECRET_FIELDS, all)
);

impl ConnectionSecretRequest {
    /// Parses a JSON body.
    ///
    /// # Errors
    /// Every violation, in document order. Never empty.
    ///
    /// # Examples
    /// ```
    /// use contracts::request::ConnectionSecretRequest;
    ///
    /// assert_eq!(ConnectionSecretRequest::parse(br#"{"Value": "s3cret"}"#).expect("a secret").value, "s3cret");
    /// assert!(ConnectionSecretRequest::parse(br#"{"Value": "two words"}"#).is_err());
    /// ```
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        validate(&parse_body(body)?, secret)
    }
}

fn secret(json: &Json<'_>, violations: &mut Violations) -> Option<ConnectionSecretRequest> {
    let mut draft = SecretDraft::default();
    read_object(json, SECRET_FIELDS, Scenario::ConnectionSecret, &Location::ROOT, &mut draft, violations);
    Some(ConnectionSecretRequest { value: draft.value? })
}

/// A call of a connection's tool. Created only by parsing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolTrialRequest {
    /// The name of the tool, without its connection.
    pub tool: String,
    /// The arguments as JSON text.
    pub arguments: String,
}

#[derive(Default)]
struct TrialDraft {
    tool: Option<String>,
    arguments: Option<String>,
}

const TRIAL_FIELDS: &[Field<TrialDraft>] = &[
    Field::required(
        "Tool",
        "Name of the tool, without its connection.",
        slot!(line(MAX_TOOL_CHARS), TrialDraft, tool),
    ),
    Field::required(
        "ArgumentsJson",
        "Arguments: a JSON object as text, as a model writes them.",
        slot!(text(MAX_ARGUMENTS_CHARS), TrialDraft, arguments),
    ),
];

documented!(
    ToolTrialRequest,
    "ToolTrialRequest",
    schemas::object_schema("A call of a connection's tool.", TRIAL_FIELDS, Scenario::ToolTrial),
    |all| schemas::collect(TRIAL_FIELDS, all)
);

impl ToolTrialRequest {
    /// Parses a JSON body.
    ///
    /// # Errors
    /// Every violation, in document order. Never empty.
    ///
    /// # Examples
    /// ```
    /// use contracts::request::ToolTrialRequest;
    ///
    /// let trial = ToolTrialRequest::parse(br#"{"Tool": "create_ticket", "ArgumentsJson": "{}"}"#).expect("a call");
    /// assert_eq!((trial.tool.as_str(), trial.arguments.as_str()), ("create_ticket", "{}"));
    /// ```
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        validate(&parse_body(body)?, trial)
    }
}

fn trial(json: &Json<'_>, violations: &mut Violations) -> Option<ToolTrialRequest> {
    let mut draft = TrialDraft::default();
    read_object(json, TRIAL_FIELDS, Scenario::ToolTrial, &Location::ROOT, &mut draft, violations);
    Some(ToolTrialRequest { tool: draft.tool?, arguments: draft.arguments? })
}

/// A comparison of a connection's tools with those of its server. Created only by parsing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionRefreshRequest {
    /// The names of the tools whose change is written. `*` stands for all.
    pub accept: Vec<String>,
    /// The hash of the server's tools as they were reviewed.
    pub hash: Option<String>,
    /// The OpenAPI document as JSON text.
    pub document: Option<String>,
}

#[derive(Default)]
struct RefreshDraft {
    accept: Option<Vec<String>>,
    hash: Option<String>,
    document: Option<String>,
}

const ACCEPT: Kind<Vec<String>> = Kind {
    shape: Shape::Lines { max: MAX_ACCEPTED },
    read: |shape, json, at, violations| {
        const NAME: Kind<String> = line(MAX_TOOL_CHARS);
        value::list(json, shape.max(), at, violations, |json, at, violations| {
            (NAME.read)(&NAME.shape, json, at, violations)
        })
    },
};

const REFRESH_FIELDS: &[Field<RefreshDraft>] = &[
    Field::optional(
        "Accept",
        "Names of the tools whose change is written, without their connection. `*` stands for all. Absent: nothing is \
         written.",
        slot!(ACCEPT, RefreshDraft, accept),
    ),
    Field::optional(
        "Hash",
        "`Hash` of the comparison that was reviewed. Required with `Accept`: if the server has other tools by now, \
         nothing is written.",
        slot!(line(HASH_CHARS), RefreshDraft, hash),
    ),
    Field::optional(
        "Document",
        "OpenAPI document as JSON text, for a connection with the protocol `openapi`. Absent: the document at the \
         connection's `DocumentUrl`.",
        slot!(text(MAX_DOCUMENT_CHARS), RefreshDraft, document),
    ),
];

documented!(
    ConnectionRefreshRequest,
    "ConnectionRefreshRequest",
    schemas::object_schema(
        "A comparison of a connection's tools with those of its server.",
        REFRESH_FIELDS,
        Scenario::ConnectionRefresh
    ),
    |all| schemas::collect(REFRESH_FIELDS, all)
);

impl ConnectionRefreshRequest {
    /// Parses a JSON body.
    ///
    /// # Errors
    /// Every violation, in document order. Never empty.
    ///
    /// # Examples
    /// ```
    /// use contracts::request::ConnectionRefreshRequest;
    ///
    /// assert!(ConnectionRefreshRequest::parse(b"{}").expect("a comparison").accept.is_empty());
    /// let accepted = ConnectionRefreshRequest::parse(br#"{"Accept": ["*"], "Hash": "9f3c"}"#).expect("a change");
    /// assert_eq!(accepted.accept, ["*"]);
    /// assert!(ConnectionRefreshRequest::parse(br#"{"Accept": ["*"]}"#).is_err());
    /// ```
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        validate(&parse_body(body)?, refresh)
    }
}

fn refresh(json: &Json<'_>, violations: &mut Violations) -> Option<ConnectionRefreshRequest> {
    let mut draft = RefreshDraft::default();
    read_object(json, REFRESH_FIELDS, Scenario::ConnectionRefresh, &Location::ROOT, &mut draft, violations);
    let RefreshDraft { accept, hash, document } = draft;
    if accept.is_some() && hash.is_none() {
        violations
            .invalid(&Location::ROOT.member("Hash"), "is required with Accept. Compare without Accept first");
    }
    Some(ConnectionRefreshRequest { accept: accept.unwrap_or_default(), hash, document })
}
