//! The resolution of a call whose outcome is unknown.

use serde::{Deserialize, Serialize};

#[cfg(feature = "openapi")]
use super::schemas;
use super::{
    body::{json_request, parse_body, validate},
    field_table::{Field, Scenario, documented, read_object, slot},
    json::Json,
    kind::{Kind, Words, line, word},
    limits::MAX_NOTE_CHARS,
    violations::{Location, Violations},
};
use crate::{error::Error, schema::Schema};

/// The length of a call's id, a SHA-256 in hexadecimal.
const MAX_EFFECT_ID_CHARS: usize = 64;

/// The finding of a person who looked at the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum EffectFinding {
    /// The target performed the call.
    Performed,
    /// The target didn't perform the call.
    NotPerformed,
}

impl EffectFinding {
    /// Returns the word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Performed => "performed",
            Self::NotPerformed => "not_performed",
        }
    }
}

impl Words for EffectFinding {
    const WORDS: &[(&str, Self)] =
        &[(Self::Performed.name(), Self::Performed), (Self::NotPerformed.name(), Self::NotPerformed)];
}

/// The resolution of a call whose outcome is unknown. Created only by parsing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EffectResolution {
    /// The id of the call.
    pub effect_id: String,
    /// The finding.
    pub outcome: EffectFinding,
    /// The operator's note, for the audit log.
    pub note: Option<String>,
}

#[derive(Default)]
struct Draft {
    effect_id: Option<String>,
    outcome: Option<EffectFinding>,
    note: Option<String>,
}

const OUTCOME: Kind<EffectFinding> = word(Schema::of::<EffectFinding>("EffectFinding"));

const FIELDS: &[Field<Draft>] = &[
    Field::required(
        "EffectId",
        "Id of the call, as the list of unknown outcomes has it.",
        slot!(line(MAX_EFFECT_ID_CHARS), Draft, effect_id),
    ),
    Field::required(
        "Outcome",
        "Finding of a person who looked at the target.",
        slot!(OUTCOME, Draft, outcome),
    ),
    Field::optional(
        "Note",
        "One line for the audit log, such as the number of a ticket.",
        slot!(line(MAX_NOTE_CHARS), Draft, note),
    ),
];

documented!(
    EffectResolution,
    "EffectResolution",
    schemas::object_schema(
        "The resolution of a call whose outcome is unknown.",
        FIELDS,
        Scenario::EffectResolution
    ),
    |all| schemas::collect(FIELDS, all)
);

json_request!(EffectResolution);

impl EffectResolution {
    /// Parses a JSON body.
    ///
    /// # Errors
    /// Every violation, in document order. Never empty.
    ///
    /// # Examples
    /// ```
    /// use contracts::request::{EffectFinding, EffectResolution};
    ///
    /// let body = br#"{"EffectId": "9f", "Outcome": "not_performed"}"#;
    /// assert_eq!(EffectResolution::parse(body).expect("a resolution").outcome, EffectFinding::NotPerformed);
    /// assert!(EffectResolution::parse(br#"{"EffectId": "9f", "Outcome": "maybe"}"#).is_err());
    /// ```
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        validate(&parse_body(body)?, resolution)
    }
}

fn resolution(json: &Json<'_>, violations: &mut Violations) -> Option<EffectResolution> {
    let mut draft = Draft::default();
    read_object(json, FIELDS, Scenario::EffectResolution, &Location::ROOT, &mut draft, violations);
    Some(EffectResolution { effect_id: draft.effect_id?, outcome: draft.outcome?, note: draft.note })
}
