//! Changes to a context.

#[cfg(feature = "openapi")]
use super::schemas;
use super::{
    body::{check_body_size, json_request, parse_body, validate},
    field_table::{Field, Scenario, Slot, documented, read_object, slot},
    json::Json,
    kind::{Kind, integer, version},
    violations::{Location, Violations},
};
use crate::error::{Error, ErrorCode};

/// A context as JSON text. Only its encoding and its size are valid: the members depend on the deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextText(String);

json_request!(ContextText);
json_request!(RollbackRequest);
json_request!(RolloutRequest);

impl ContextText {
    /// Reads a body.
    ///
    /// # Errors
    /// If there is none, or it is too large or not UTF-8.
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        check_body_size(body.len())?;
        if body.iter().all(u8::is_ascii_whitespace) {
            return Err(vec![ErrorCode::BodyMissing.into()]);
        }
        let text = std::str::from_utf8(body).map_err(|_| vec![Error::from(ErrorCode::BodyNotJson)])?;
        Ok(Self(text.to_owned()))
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A rollback of a context to an earlier version. Created only by parsing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RollbackRequest {
    /// The number of the version to restore.
    pub version: u32,
}

/// A rollout of a version to a percentage of the sessions. Created only by parsing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RolloutRequest {
    /// The number of the version.
    pub version: u32,
    /// The percentage of the sessions, from 0 to 100.
    pub percent: u8,
}

#[derive(Default)]
struct RolloutDraft {
    version: Option<u32>,
    percent: Option<u8>,
}

const ROLLOUT_FIELDS: &[Field<RolloutDraft>] = &[
    Field::required("Version", "Number of the version.", slot!(VERSION, RolloutDraft, version)),
    Field::required(
        "Percent",
        "Percentage of the sessions. 0 ends the rollout.",
        slot!(PERCENT, RolloutDraft, percent),
    ),
];

documented!(
    RolloutRequest,
    "RolloutRequest",
    schemas::object_schema("A rollout of a version of a context.", ROLLOUT_FIELDS, Scenario::Rollout),
    |all| schemas::collect(ROLLOUT_FIELDS, all)
);

impl RolloutRequest {
    /// Parses a JSON body.
    ///
    /// # Errors
    /// Every violation, in document order. Never empty.
    ///
    /// # Examples
    /// ```
    /// use contracts::request::RolloutRequest;
    ///
    /// let rollout = RolloutRequest::parse(br#"{"Version": 3, "Percent": 10}"#).expect("a rollout");
    /// assert_eq!((rollout.version, rollout.percent), (3, 10));
    /// assert!(RolloutRequest::parse(br#"{"Version": 3, "Percent": 101}"#).is_err());
    /// ```
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        validate(&parse_body(body)?, rollout)
    }
}

fn rollout(json: &Json<'_>, violations: &mut Violations) -> Option<RolloutRequest> {
    let mut draft = RolloutDraft::default();
    read_object(json, ROLLOUT_FIELDS, Scenario::Rollout, &Location::ROOT, &mut draft, violations);
    Some(RolloutRequest { version: draft.version?, percent: draft.percent? })
}

const PERCENT: Kind<u8> = Kind {
    shape: integer::<u8>(0, 100),
    read: |shape, json, at, violations| {
        let number = shape.integer(json);
        if number.is_none() {
            violations.invalid(at, "must be a whole number from 0, which ends the rollout, to 100");
        }
        number
    },
};

/// The number of a version.
const VERSION: Kind<u32> = Kind {
    shape: version(1),
    read: |shape, json, at, violations| {
        let number = shape.integer(json);
        if number.is_none() {
            violations.invalid(at, format_args!("must be the number of a version, from 1 to {}", u32::MAX));
        }
        number
    },
};

const FIELDS: &[Field<Option<u32>>] = &[Field::required(
    "Version",
    "Number of the version to restore.",
    &Slot(VERSION, |draft: &mut Option<u32>, version| *draft = version),
)];

documented!(
    RollbackRequest,
    "RollbackRequest",
    schemas::object_schema("A rollback of a context.", FIELDS, Scenario::Rollback),
    |all| schemas::collect(FIELDS, all)
);

impl RollbackRequest {
    /// Parses a JSON body.
    ///
    /// # Errors
    /// Every violation, in document order. Never empty.
    ///
    /// # Examples
    /// ```
    /// use contracts::request::RollbackRequest;
    ///
    /// assert_eq!(RollbackRequest::parse(br#"{"Version": 3}"#).expect("a version").version, 3);
    /// assert!(RollbackRequest::parse(br#"{"Version": 0}"#).is_err());
    /// ```
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        validate(&parse_body(body)?, rollback)
    }
}

fn rollback(json: &Json<'_>, violations: &mut Violations) -> Option<RollbackRequest> {
    let mut version = None;
    read_object(json, FIELDS, Scenario::Rollback, &Location::ROOT, &mut version, violations);
    Some(RollbackRequest { version: version? })
}
