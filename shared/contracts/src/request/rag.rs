//! Conditions that limit retrieval. All of them must hold. Advisory.

use super::{
    field_table::{Field, Scenario, read_object},
    json::Json,
    limits::{MAX_CONDITIONS, MAX_KEY_CHARS, MAX_VALUE_CHARS, MAX_VALUES},
    value::{line, list, text, word},
    violations::{Location, Violations},
};
use crate::non_empty::NonEmpty;

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

impl RagOperator {
    const WORDS: &[(&str, Self)] = &[
        ("==", Self::Equals),
        ("!=", Self::NotEquals),
        ("contains", Self::Contains),
        ("does_not_contain", Self::DoesNotContain),
    ];

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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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

const SCOPE_FIELDS: &[Field<Scope>] = &[Field::required("Conditions", |json, at, scope, violations| {
    scope.conditions = list(json, MAX_CONDITIONS, at, violations, condition);
})];

#[derive(Default)]
struct Draft {
    key: Option<String>,
    operator: Option<RagOperator>,
    values: Option<NonEmpty<RagValue>>,
}

const CONDITION_FIELDS: &[Field<Draft>] = &[
    Field::required("Key", |json, at, draft, violations| {
        draft.key = line(json, MAX_KEY_CHARS, at, violations).map(str::to_owned);
    }),
    Field::required("Operator", |json, at, draft, violations| {
        draft.operator = word(json, RagOperator::WORDS, at, violations);
    }),
    Field::required("Values", |json, at, draft, violations| {
        let values = list(json, MAX_VALUES, at, violations, value).map(NonEmpty::new);
        if let Some(Err(empty)) = values {
            violations.invalid(at, empty);
        }
        draft.values = values.and_then(Result::ok);
    }),
];

/// Reads `RagScope`. A scope without conditions equals no scope.
pub(super) fn read(
    json: &Json<'_>,
    at: &Location<'_>,
    violations: &mut Violations,
) -> Option<Vec<RagCondition>> {
    let mut scope = Scope::default();
    read_object(json, SCOPE_FIELDS, Scenario::UserTurn, at, &mut scope, violations);
    scope.conditions
}

fn condition(json: &Json<'_>, at: &Location<'_>, violations: &mut Violations) -> Option<RagCondition> {
    let mut draft = Draft::default();
    read_object(json, CONDITION_FIELDS, Scenario::UserTurn, at, &mut draft, violations);
    Some(RagCondition { key: draft.key?, operator: draft.operator?, values: draft.values? })
}

fn value(json: &Json<'_>, at: &Location<'_>, violations: &mut Violations) -> Option<RagValue> {
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
