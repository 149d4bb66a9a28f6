//! The secret of a connection, and a call of one of its tools.

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

json_request!(ConnectionSecretRequest);
json_request!(ToolTrialRequest);

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
