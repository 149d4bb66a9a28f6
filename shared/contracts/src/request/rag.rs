//! Conditions that limit retrieval. All of them must hold. Advisory.

use serde::{Deserialize, Serialize};

use super::{
    body::{parse_body, validate},
    field_table::{Field, Scenario, documented, read_object, slot},
    json::Json,
    kind::{Kind, RagKey, Shape, Words, named, word},
    limits::{MAX_CONDITIONS, MAX_KEY_CHARS, MAX_VALUE_CHARS, MAX_VALUES},
    value::{line, list, text},
    violations::{Location, Violations},
};
#[cfg(feature = "openapi")]
use super::{kind::RagText, schemas};
use crate::{error::Error, non_empty::NonEmpty, schema::Schema};

/// A condition of the retrieval scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RagCondition {
    /// The payload key to compare.
    pub key: String,
    /// The comparison operator.
    pub operator: RagOperator,
    /// The values to compare with: any of them or none of them, depending on the operator.
    pub values: NonEmpty<RagValue>,
}

/// The operator of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RagOperator {
    /// `==`: equals any of the values.
    Equals,
    /// `!=`: equals none of the values.
    NotEquals,
    /// `contains`: contains any of the values.
    Contains,
    /// `does_not_contain`: contains none of the values.
    DoesNotContain,
}

impl Words for RagOperator {
    const WORDS: &[(&str, Self)] = &[
        ("==", Self::Equals),
        ("!=", Self::NotEquals),
        ("contains", Self::Contains),
        ("does_not_contain", Self::DoesNotContain),
    ];
}

impl RagOperator {
    /// The operator as it appears on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Equals => "==",
            Self::NotEquals => "!=",
            Self::Contains => "contains",
            Self::DoesNotContain => "does_not_contain",
        }
    }
}

/// A value of a condition: a keyword, an integer or a flag, as an index stores them. Fractions are excluded,
/// because comparing them for equality is unreliable.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RagValue {
    /// A keyword or a text. Not blank.
    Text(String),
    /// A whole number within ±(2^53 − 1).
    Integer(i64),
    /// A flag.
    Flag(bool),
}

#[derive(Default)]
struct Scope {
    conditions: Option<Vec<RagCondition>>,
}

const SCOPE_FIELDS: &[Field<Scope>] =
    &[Field::required("Conditions", "", slot!(CONDITIONS, Scope, conditions))];

#[derive(Default)]
struct Draft {
    key: Option<String>,
    operator: Option<RagOperator>,
    values: Option<NonEmpty<RagValue>>,
}

const CONDITION_FIELDS: &[Field<Draft>] = &[
    Field::required("Key", "", slot!(KEY, Draft, key)),
    Field::required("Operator", "", slot!(OPERATOR, Draft, operator)),
    Field::required(
        "Values",
        "Values to compare with: any of them or none of them, depending on the operator.",
        slot!(VALUES, Draft, values),
    ),
];

/// Conditions that limit retrieval. A scope without conditions equals no scope.
pub(super) const SCOPE: Kind<Vec<RagCondition>> =
    named(Schema::of::<Scope>("RagScope"), |_, json, at, violations| {
        let mut scope = Scope::default();
        read_object(json, SCOPE_FIELDS, Scenario::UserTurn, at, &mut scope, violations);
        scope.conditions
    });

const CONDITIONS: Kind<Vec<RagCondition>> = Kind {
    shape: Shape::List { items: Schema::of::<RagCondition>("RagCondition"), min: 0, max: MAX_CONDITIONS },
    read: |shape, json, at, violations| list(json, shape.max(), at, violations, condition),
};

const KEY: Kind<String> = named(Schema::of::<RagKey>("RagKey"), |_, json, at, violations| {
    line(json, MAX_KEY_CHARS, at, violations).map(str::to_owned)
});

const OPERATOR: Kind<RagOperator> = word(Schema::of::<RagOperator>("RagOperator"));

const VALUES: Kind<NonEmpty<RagValue>> = Kind {
    shape: Shape::List { items: Schema::of::<RagValue>("RagValue"), min: 1, max: MAX_VALUES },
    read: |shape, json, at, violations| {
        let values = list(json, shape.max(), at, violations, value)?;
        NonEmpty::new(values).map_err(|empty| violations.invalid(at, empty)).ok()
    },
};

documented!(
    Scope,
    "RagScope",
    schemas::object_schema(
        "Conditions that limit retrieval. All of them must hold. Advisory.",
        SCOPE_FIELDS,
        Scenario::UserTurn
    ),
    |all| schemas::collect(SCOPE_FIELDS, all)
);
documented!(
    RagCondition,
    "RagCondition",
    schemas::object_schema("A condition of the retrieval scope.", CONDITION_FIELDS, Scenario::UserTurn),
    |all| schemas::collect(CONDITION_FIELDS, all)
);
documented!(
    RagOperator,
    "RagOperator",
    schemas::words("Comparison operator of a condition.", RagOperator::WORDS),
    |_| {}
);
documented!(RagValue, "RagValue", schemas::rag_value("A string, an integer or a boolean."), |all| {
    let text = Schema::of::<RagText>("RagText");
    (text.collect)(text.name, all);
});

/// Parses a `RagScope`, as it stands in a request.
///
/// # Errors
/// An error per violation.
pub fn parse_scope(scope: &[u8]) -> Result<Vec<RagCondition>, Vec<Error>> {
    validate(&parse_body(scope)?, |json, violations| {
        (SCOPE.read)(&SCOPE.shape, json, &Location::ROOT, violations)
    })
}

fn condition(json: &Json<'_>, at: &Location<'_>, violations: &mut Violations) -> Option<RagCondition> {
    let mut draft = Draft::default();
    read_object(json, CONDITION_FIELDS, Scenario::UserTurn, at, &mut draft, violations);
    Some(RagCondition { key: draft.key?, operator: draft.operator?, values: draft.values? })
}

pub(super) fn value(json: &Json<'_>, at: &Location<'_>, violations: &mut Violations) -> Option<RagValue> {
    match json {
        Json::Text(_) => {
            let value = text(json, MAX_VALUE_CHARS, at, violations)?;
            if value.trim().is_empty() {
                violations.invalid(at, "must not be blank");
                return None;
            }
            Some(RagValue::Text(value.to_owned()))
        }
        Json::Integer(value) => Some(RagValue::Integer(*value)),
        Json::Bool(value) => Some(RagValue::Flag(*value)),
        Json::Null | Json::Fraction(_) | Json::InexactNumber | Json::List(_) | Json::Object(_) => {
            violations.invalid(
                at,
                format_args!("must be a string, a whole number or a boolean, not {}", json.kind()),
            );
            None
        }
    }
}
