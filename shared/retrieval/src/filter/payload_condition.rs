//! Conditions that the database can't evaluate: on parts of values, and on keys without the index that its strict mode
//! requires. They are evaluated on a result's payload.

use std::collections::HashMap;

use contracts::request::{RagCondition, RagOperator, RagValue};
use qdrant_client::qdrant::{Value, value::Kind};

/// A condition on a result's payload.
#[derive(Debug, Clone, PartialEq)]
pub struct PayloadCondition {
    /// The name of the payload member, then the steps within it.
    root: String,
    steps: Vec<Step>,
    values: Vec<RagValue>,
    comparison: Comparison,
    is_negative: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    /// A text with a part of it, an item of a list with the whole value, both without regard to case. The texts of the
    /// condition are in lower case.
    Contains,
    /// Any value with the whole value.
    Equals,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// A member of an object.
    Name(String),
    /// Each item of a list.
    Items,
    /// An item of a list.
    Index(usize),
}

impl PayloadCondition {
    /// Creates a `contains` or `does_not_contain` condition with a text, on a path of the database. None for another
    /// operator, or without a text: these compare whole values.
    pub(super) fn contains(path: &str, condition: &RagCondition) -> Option<Self> {
        if matches!(condition.operator, RagOperator::Equals | RagOperator::NotEquals) {
            return None;
        }
        let mut has_text = false;
        let values = condition.values.iter().map(|value| match value {
            RagValue::Text(text) => {
                has_text = true;
                RagValue::Text(text.to_lowercase())
            }
            other => other.clone(),
        });
        let condition = Self::new(path, condition.operator, values.collect(), Comparison::Contains);
        has_text.then_some(condition)
    }

    /// Creates a condition that compares whole values as the database does.
    pub(super) fn equals(path: &str, condition: &RagCondition) -> Self {
        let values = condition.values.iter().cloned().collect();
        Self::new(path, condition.operator, values, Comparison::Equals)
    }

    fn new(path: &str, operator: RagOperator, values: Vec<RagValue>, comparison: Comparison) -> Self {
        let is_negative = matches!(operator, RagOperator::NotEquals | RagOperator::DoesNotContain);
        let (root, steps) = parse(path);
        Self { root, steps, values, comparison, is_negative }
    }

    /// Returns the payload key that has to be read to evaluate it.
    pub(crate) fn payload_key(&self) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if self.root.chars().all(is_plain) { self.root.clone() } else { format!("\"{}\"", self.root) }
    }

    /// Returns true if the payload meets the condition. A missing value contains nothing.
    pub(crate) fn is_met(&self, payload: &HashMap<String, Value>) -> bool {
        let is_found = payload.get(&self.root).is_some_and(|value| self.matches(value, &self.steps, false));
        is_found != self.is_negative
    }

    fn matches(&self, value: &Value, steps: &[Step], is_item: bool) -> bool {
        let Some(kind) = &value.kind else { return false };
        match (steps.split_first(), kind) {
            (None, Kind::ListValue(list)) if !is_item => {
                list.values.iter().any(|item| self.matches(item, &[], true))
            }
            (None, kind) => self.values.iter().any(|wanted| self.is_match(kind, wanted, is_item)),
            (Some((Step::Name(name), rest)), Kind::StructValue(object)) => {
                object.fields.get(name).is_some_and(|member| self.matches(member, rest, false))
            }
            (Some((Step::Items, rest)), Kind::ListValue(list)) => {
                list.values.iter().any(|item| self.matches(item, rest, true))
            }
            (Some((Step::Index(index), rest)), Kind::ListValue(list)) => {
                list.values.get(*index).is_some_and(|item| self.matches(item, rest, false))
            }
            (Some(_), _) => false,
        }
    }

    fn is_match(&self, kind: &Kind, wanted: &RagValue, is_item: bool) -> bool {
        match (kind, wanted) {
            (Kind::StringValue(text), RagValue::Text(wanted)) => match self.comparison {
                Comparison::Equals => text == wanted,
                Comparison::Contains if is_item => text.to_lowercase() == *wanted,
                Comparison::Contains => text.to_lowercase().contains(wanted),
            },
            (Kind::IntegerValue(number), RagValue::Integer(wanted)) => number == wanted,
            // Indexers in languages without integers write doubles.
            #[expect(clippy::cast_precision_loss, reason = "a condition's numbers are within 2^53")]
            (Kind::DoubleValue(number), RagValue::Integer(wanted)) => *number == *wanted as f64,
            (Kind::BoolValue(flag), RagValue::Flag(wanted)) => flag == wanted,
            _ => false,
        }
    }
}

/// Reads a path that [`super::key_path`] returned.
fn parse(path: &str) -> (String, Vec<Step>) {
    if let Some(quoted) = path.strip_prefix('"').and_then(|path| path.strip_suffix('"')) {
        return (quoted.to_owned(), Vec::new());
    }
    let mut root = None;
    let mut steps = Vec::new();
    for segment in path.split('.') {
        let (name, rest) = segment.split_at(segment.find('[').unwrap_or(segment.len()));
        match root {
            None => root = Some(name.to_owned()),
            Some(_) => steps.push(Step::Name(name.to_owned())),
        }
        steps.extend(rest.split('[').skip(1).map(|index| match index.trim_end_matches(']') {
            "" => Step::Items,
            index => Step::Index(index.parse().unwrap_or(usize::MAX)),
        }));
    }
    (root.unwrap_or_default(), steps)
}

#[cfg(test)]
mod tests {
    use contracts::NonEmpty;
    use qdrant_client::qdrant::Struct;

    use super::*;

    fn is_met(path: &str, operator: RagOperator, values: &[&str]) -> bool {
        let values: Vec<RagValue> = values.iter().map(|value| RagValue::Text((*value).to_owned())).collect();
        let condition =
            RagCondition { key: path.to_owned(), operator, values: NonEmpty::new(values).unwrap() };
        let words = Value::from(vec!["ddr".to_owned(), "API".to_owned()]);
        let nested = Struct { fields: HashMap::from([("b".to_owned(), words.clone())]) };
        let payload: HashMap<String, Value> = [
            ("Path", Value::from("docs/Tides.md")),
            ("LabelSlugs", words),
            ("two words", "Yes".into()),
            ("a", Value { kind: Some(Kind::StructValue(nested)) }),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into();
        match operator {
            RagOperator::Contains | RagOperator::DoesNotContain => {
                PayloadCondition::contains(path, &condition).unwrap().is_met(&payload)
            }
            RagOperator::Equals | RagOperator::NotEquals => {
                PayloadCondition::equals(path, &condition).is_met(&payload)
            }
        }
    }

    #[test]
    fn text_contains_parts_and_list_contains_items() {
        use RagOperator::{Contains, DoesNotContain};
        for (path, values, contains) in [
            ("Path", &["tides"][..], true),
            ("Path", &["TIDES.MD"], true),
            ("Path", &["moon", "docs/"], true),
            ("Path", &["moon"], false),
            ("LabelSlugs", &["api"], true),
            ("LabelSlugs", &["ap"], false),
            ("LabelSlugs[]", &["ddr"], true),
            ("LabelSlugs[]", &["dd"], false),
            ("LabelSlugs[0]", &["dd"], true),
            ("LabelSlugs[9]", &["ddr"], false),
            ("\"two words\"", &["ye"], true),
            ("a.b", &["Api"], true),
            ("a.b.c", &["api"], false),
            ("Missing", &["x"], false),
        ] {
            assert_eq!(is_met(path, Contains, values), contains, "{path} {values:?}");
            assert_eq!(is_met(path, DoesNotContain, values), !contains, "{path} {values:?}");
        }
    }

    #[test]
    fn equality_compares_whole_values_and_items() {
        use RagOperator::{Equals, NotEquals};
        for (path, values, equals) in [
            ("Path", &["docs/Tides.md"][..], true),
            ("Path", &["docs/tides.md"], false),
            ("Path", &["docs"], false),
            ("LabelSlugs", &["x", "API"], true),
            ("LabelSlugs[]", &["api"], false),
            ("a.b[]", &["ddr"], true),
            ("Missing", &["x"], false),
        ] {
            assert_eq!(is_met(path, Equals, values), equals, "{path} {values:?}");
            assert_eq!(is_met(path, NotEquals, values), !equals, "{path} {values:?}");
        }
    }

    #[test]
    fn condition_without_text_is_left_to_the_database() {
        for (operator, value) in [
            (RagOperator::Contains, RagValue::Integer(1)),
            (RagOperator::Equals, RagValue::Text("a".to_owned())),
        ] {
            let condition = RagCondition { key: "a".to_owned(), operator, values: NonEmpty::one(value) };
            assert_eq!(PayloadCondition::contains("a", &condition), None);
        }
    }
}
