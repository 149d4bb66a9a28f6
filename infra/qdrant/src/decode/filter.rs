//! Filters: the conditions that a payload has to meet.

use qdrant_client::qdrant as wire;
use qdrant_edge::external::ordered_float::OrderedFloat;
use qdrant_edge::{
    AnyVariants, Condition, FieldCondition, Filter, HasIdCondition, HasVectorCondition, IsEmptyCondition,
    IsNullCondition, JsonPath, Match, MatchPhrase, MatchTextAny, MinShould, Nested, NestedCondition, Range,
    RangeInterface, ValueVariants, ValuesCount,
};

use super::point::{ids, key};
use crate::refusal::Refusal;

pub(crate) fn filter(filter: Option<wire::Filter>) -> Result<Option<Filter>, Refusal> {
    filter.map(conditions_of).transpose()
}

fn conditions_of(filter: wire::Filter) -> Result<Filter, Refusal> {
    let some = |conditions: Vec<wire::Condition>| {
        if conditions.is_empty() { Ok(None) } else { all(conditions).map(Some) }
    };
    let min_should = |min: wire::MinShould| {
        let min_count = usize::try_from(min.min_count).unwrap_or(usize::MAX);
        Ok::<_, Refusal>(MinShould { conditions: all(min.conditions)?, min_count })
    };
    Ok(Filter {
        should: some(filter.should)?,
        must: some(filter.must)?,
        must_not: some(filter.must_not)?,
        min_should: filter.min_should.map(min_should).transpose()?,
    })
}

fn all(conditions: Vec<wire::Condition>) -> Result<Vec<Condition>, Refusal> {
    conditions.into_iter().map(condition).collect()
}

fn condition(condition: wire::Condition) -> Result<Condition, Refusal> {
    use wire::condition::ConditionOneOf;
    Ok(match condition.condition_one_of {
        Some(ConditionOneOf::Field(field)) => Condition::Field(field_condition(field)?),
        Some(ConditionOneOf::IsEmpty(of)) => Condition::IsEmpty(IsEmptyCondition::from(key(&of.key)?)),
        Some(ConditionOneOf::IsNull(of)) => Condition::IsNull(IsNullCondition::from(key(&of.key)?)),
        Some(ConditionOneOf::HasId(of)) => Condition::HasId(HasIdCondition::from_iter(ids(of.has_id)?)),
        Some(ConditionOneOf::HasVector(of)) => Condition::HasVector(HasVectorCondition::from(of.has_vector)),
        Some(ConditionOneOf::Filter(inner)) => Condition::Filter(conditions_of(inner)?),
        Some(ConditionOneOf::Nested(of)) => Condition::Nested(NestedCondition::new(Nested {
            key: key(&of.key)?,
            filter: conditions_of(of.filter.unwrap_or_default())?,
        })),
        Some(ConditionOneOf::Slice(_)) => return Err(Refusal::Unsupported("slices")),
        None => return Err(Refusal::invalid("a condition is empty")),
    })
}

fn field_condition(field: wire::FieldCondition) -> Result<FieldCondition, Refusal> {
    let geo = field.geo_bounding_box.is_some() || field.geo_radius.is_some() || field.geo_polygon.is_some();
    if geo {
        return Err(Refusal::Unsupported("conditions on places"));
    }
    if field.datetime_range.is_some() {
        return Err(Refusal::Unsupported("ranges of instants"));
    }
    Ok(FieldCondition {
        r#match: field.r#match.map(matches).transpose()?,
        range: field.range.map(|range| RangeInterface::Float(range_of(range))),
        values_count: field.values_count.map(count_of),
        is_empty: field.is_empty,
        is_null: field.is_null,
        ..none(key(&field.key)?)
    })
}

/// A field with no condition.
fn none(key: JsonPath) -> FieldCondition {
    FieldCondition {
        key,
        r#match: None,
        range: None,
        geo_bounding_box: None,
        geo_radius: None,
        geo_polygon: None,
        values_count: None,
        is_empty: None,
        is_null: None,
    }
}

fn matches(condition: wire::Match) -> Result<Match, Refusal> {
    use wire::r#match::MatchValue;
    let strings = |of: wire::RepeatedStrings| AnyVariants::Strings(of.strings.into_iter().collect());
    let integers = |of: wire::RepeatedIntegers| AnyVariants::Integers(of.integers.into_iter().collect());
    Ok(match condition.match_value {
        Some(MatchValue::Keyword(text)) => Match::new_value(ValueVariants::String(text)),
        Some(MatchValue::Integer(number)) => Match::new_value(ValueVariants::Integer(number)),
        Some(MatchValue::Boolean(flag)) => Match::new_value(ValueVariants::Bool(flag)),
        Some(MatchValue::Text(text)) => Match::new_text(&text),
        Some(MatchValue::TextAny(text_any)) => Match::TextAny(MatchTextAny { text_any }),
        Some(MatchValue::Phrase(phrase)) => Match::Phrase(MatchPhrase { phrase }),
        Some(MatchValue::Keywords(of)) => Match::new_any(strings(of)),
        Some(MatchValue::Integers(of)) => Match::new_any(integers(of)),
        Some(MatchValue::ExceptKeywords(of)) => Match::new_except(strings(of)),
        Some(MatchValue::ExceptIntegers(of)) => Match::new_except(integers(of)),
        Some(MatchValue::Prefix(_) | MatchValue::Substring(_)) => {
            return Err(Refusal::Unsupported("matches of a prefix or a part"));
        }
        None => return Err(Refusal::invalid("a match names no value")),
    })
}

fn range_of(range: wire::Range) -> Range<OrderedFloat<f64>> {
    Range {
        lt: range.lt.map(OrderedFloat),
        gt: range.gt.map(OrderedFloat),
        gte: range.gte.map(OrderedFloat),
        lte: range.lte.map(OrderedFloat),
    }
}

fn count_of(count: wire::ValuesCount) -> ValuesCount {
    let size = |bound: Option<u64>| bound.map(|bound| usize::try_from(bound).unwrap_or(usize::MAX));
    ValuesCount { lt: size(count.lt), gt: size(count.gt), gte: size(count.gte), lte: size(count.lte) }
}
