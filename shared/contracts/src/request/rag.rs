//! What retrieval may look at (AGN-034 §4.4): conditions that all have to hold, advisory.

use super::{
    json::Json,
    limits::{MAX_CONDITIONS, MAX_KEY_CHARS, MAX_VALUE_CHARS, MAX_VALUES},
    report::{At, Report},
    table::{Member, Scenario, read_object},
    value::{line, list, text, word},
};
use crate::non_empty::NonEmpty;

/// One condition of the scope (AGN-034 §4.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RagCondition {
    /// The payload key it looks at.
    pub key: String,
    /// How it compares.
    pub operator: RagOperator,
    /// What it compares with: any of them, or none of them, as the operator says.
    pub values: NonEmpty<RagValue>,
}

/// How a condition compares (AGN-034 §4.4; ruling: RAG operators).
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

    /// The operator as it is written on the wire.
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

/// A value that a payload can be compared with: what an index can hold as a keyword, a count or a
/// flag. Fractions are left out, since comparing them for equality is unreliable.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RagValue {
    /// A keyword or a piece of text; not blank.
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

const SCOPE: &[Member<Scope>] = &[Member::required("Conditions", |json, at, scope, report| {
    scope.conditions = list(json, MAX_CONDITIONS, at, report, condition);
})];

#[derive(Default)]
struct Draft {
    key: Option<String>,
    operator: Option<RagOperator>,
    values: Option<NonEmpty<RagValue>>,
}

const CONDITION: &[Member<Draft>] = &[
    Member::required("Key", |json, at, draft, report| {
        draft.key = line(json, MAX_KEY_CHARS, at, report).map(str::to_owned);
    }),
    Member::required("Operator", |json, at, draft, report| {
        draft.operator = word(json, RagOperator::WORDS, at, report);
    }),
    Member::required("Values", |json, at, draft, report| {
        let values = list(json, MAX_VALUES, at, report, value).map(NonEmpty::new);
        if let Some(Err(empty)) = values {
            report.invalid(at, empty);
        }
        draft.values = values.and_then(Result::ok);
    }),
];

/// Reads `RagScope`. A scope without conditions is no scope.
pub(super) fn read(json: &Json<'_>, at: &At<'_>, report: &mut Report) -> Option<Vec<RagCondition>> {
    let mut scope = Scope::default();
    read_object(json, SCOPE, Scenario::UserTurn, at, &mut scope, report);
    scope.conditions
}

fn condition(json: &Json<'_>, at: &At<'_>, report: &mut Report) -> Option<RagCondition> {
    let mut draft = Draft::default();
    read_object(json, CONDITION, Scenario::UserTurn, at, &mut draft, report);
    Some(RagCondition { key: draft.key?, operator: draft.operator?, values: draft.values? })
}

fn value(json: &Json<'_>, at: &At<'_>, report: &mut Report) -> Option<RagValue> {
    match json {
        Json::Text(_) => {
            let value = text(json, MAX_VALUE_CHARS, at, report)?;
            if value.trim().is_empty() {
                report.invalid(at, "must not be blank");
                return None;
            }
            Some(RagValue::Text(value.to_owned()))
        }
        Json::Integer(value) => Some(RagValue::Integer(*value)),
        Json::Bool(value) => Some(RagValue::Flag(*value)),
        Json::Null | Json::Fraction(_) | Json::OtherNumber | Json::List(_) | Json::Object(_) => {
            report.invalid(
                at,
                format_args!("must be a string, a whole number or a boolean, not {}", json.kind()),
            );
            None
        }
    }
}
