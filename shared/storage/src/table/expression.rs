//! Update and condition expressions, built from items rather than written by hand.
//!
//! Every name goes through a placeholder, so no attribute can collide with a reserved word.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use protocol::{change::Condition, id::AttemptId, turn::Phase};

use crate::item::{Attributes, turn::SPENT_FINAL};

/// An expression with its placeholders.
#[derive(Debug, Default)]
pub(super) struct Expression {
    pub(super) update: String,
    pub(super) condition: String,
    pub(super) names: HashMap<String, String>,
    pub(super) values: HashMap<String, AttributeValue>,
    pub(super) key: Attributes,
}

/// Sets every attribute of the item and removes the optional ones that it lacks. Leaves unknown attributes alone.
pub(super) fn replace(item: Attributes, optional: &[&str]) -> Expression {
    replace_except(item, optional, &[])
}

/// Does the same, but leaves these attributes as they are where the stored item has them.
pub(super) fn replace_except(item: Attributes, optional: &[&str], only_if_absent: &[&str]) -> Expression {
    let mut expression = Expression::default();
    let removed: Vec<&&str> = optional.iter().filter(|name| !item.contains_key(**name)).collect();
    let (key, attributes): (Vec<_>, Vec<_>) =
        item.into_iter().partition(|(name, _)| name == "PK" || name == "SK");
    expression.key = key.into_iter().collect();
    let mut sets = Vec::with_capacity(attributes.len());
    for (index, (name, value)) in attributes.into_iter().enumerate() {
        sets.push(match only_if_absent.contains(&name.as_str()) {
            true => format!("#s{index} = if_not_exists(#s{index}, :s{index})"),
            false => format!("#s{index} = :s{index}"),
        });
        expression.names.insert(format!("#s{index}"), name);
        expression.values.insert(format!(":s{index}"), value);
    }
    expression.update = format!("SET {}", sets.join(", "));
    if !removed.is_empty() {
        let removes: Vec<String> = (0..removed.len()).map(|index| format!("#r{index}")).collect();
        for (index, name) in removed.into_iter().enumerate() {
            expression.names.insert(format!("#r{index}"), (*name).to_owned());
        }
        expression.update += &format!(" REMOVE {}", removes.join(", "));
    }
    expression
}

impl Expression {
    /// Adds `name = value` to the condition.
    pub(super) fn require(mut self, name: &str, value: AttributeValue) -> Self {
        let index = self.names.len();
        self.values.insert(format!(":c{index}"), value);
        self.and(index, name, format!("#c{index} = :c{index}"))
    }

    /// Adds to the condition that the item has no such attribute.
    pub(super) fn require_absent(self, name: &str) -> Self {
        let index = self.names.len();
        self.and(index, name, format!("attribute_not_exists(#c{index})"))
    }

    fn and(mut self, index: usize, name: &str, condition: String) -> Self {
        if !self.condition.is_empty() {
            self.condition += " AND ";
        }
        self.condition += &condition;
        self.names.insert(format!("#c{index}"), name.to_owned());
        self
    }

    /// Adds the condition that a transition places on the stored head. Returns `None` if the head must not exist.
    pub(super) fn with_condition(self, condition: &Condition) -> Option<Self> {
        let owned = |phase: Phase, attempt: &AttemptId| {
            self.require("Phase", AttributeValue::S(phase_name(phase).to_owned()))
                .require("Owner", AttributeValue::S(attempt.as_str().to_owned()))
        };
        Some(match condition {
            Condition::Absent => return None,
            Condition::Unchanged { phase, attempt, lease_ends: None } => owned(*phase, attempt),
            Condition::Unchanged { phase, attempt, lease_ends: Some(ends) } => {
                owned(*phase, attempt).require("LeaseEnds", AttributeValue::S(ends.to_string()))
            }
            Condition::Unsealed { attempt } => owned(Phase::Settled, attempt).require_absent(SPENT_FINAL),
        })
    }
}

/// The phase as it is stored.
fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Running => "running",
        Phase::AwaitingTools => "awaiting_tools",
        Phase::Settled => "settled",
        Phase::Finalized => "finalized",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phase_names_match_their_stored_form() {
        for phase in [Phase::Running, Phase::AwaitingTools, Phase::Settled, Phase::Finalized] {
            assert_eq!(serde_json::to_value(phase).unwrap(), phase_name(phase));
        }
    }

    #[test]
    fn replace_removes_absent_optional_and_keeps_unknown() {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let item = HashMap::from([
            ("PK".to_owned(), text("p")),
            ("SK".to_owned(), text("s")),
            ("A".to_owned(), text("1")),
        ]);
        let expression = replace(item, &["A", "B"]).require("Rev", AttributeValue::N("1".into()));
        assert_eq!(expression.update, "SET #s0 = :s0 REMOVE #r0");
        assert_eq!(expression.names.get("#r0").map(String::as_str), Some("B"));
        assert_eq!(expression.condition, "#c2 = :c2");
        assert_eq!(expression.key.len(), 2);
    }

    #[test]
    fn kept_attribute_is_set_only_where_it_is_absent() {
        let item = HashMap::from([("Sum".to_owned(), AttributeValue::N("7".to_owned()))]);
        let expression = replace_except(item, &[], &["Sum"]);
        assert_eq!(expression.update, "SET #s0 = if_not_exists(#s0, :s0)");
    }
}
