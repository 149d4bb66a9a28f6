//! Strict mode: refuses filters by keys without the index that they need, in the words of the real server.
//!
//! Of its settings, `unindexed_filtering_retrieve` is done, which concerns queries, scrolls and counts.

use qdrant_client::qdrant as wire;
use qdrant_edge::PayloadSchemaType as Index;

use crate::decode;
use crate::engine::Collection;
use crate::refusal::Refusal;

/// Every type of index. Any of them tells whether a key has a value.
const ANY: &[Index] = &[
    Index::Bool,
    Index::Datetime,
    Index::Float,
    Index::Geo,
    Index::Integer,
    Index::Keyword,
    Index::Text,
    Index::Uuid,
];

/// Returns true if a new collection shall refuse them.
pub(crate) fn is_asked(config: Option<&wire::StrictModeConfig>) -> bool {
    config.is_some_and(|strict| {
        strict.enabled == Some(true) && strict.unindexed_filtering_retrieve == Some(false)
    })
}

/// Returns the configuration of a collection, for its description.
pub(crate) fn config(collection: &Collection) -> Option<wire::StrictModeConfig> {
    collection.is_strict.then(|| wire::StrictModeConfig {
        enabled: Some(true),
        unindexed_filtering_retrieve: Some(false),
        ..wire::StrictModeConfig::default()
    })
}

/// Refuses the filters of a query that its collection has no index for.
pub(crate) fn check_query(collection: &Collection, query: &wire::QueryPoints) -> Result<(), Refusal> {
    check(collection, query.filter.as_ref())?;
    query.prefetch.iter().try_for_each(|prefetch| check_prefetch(collection, prefetch))
}

fn check_prefetch(collection: &Collection, prefetch: &wire::PrefetchQuery) -> Result<(), Refusal> {
    check(collection, prefetch.filter.as_ref())?;
    prefetch.prefetch.iter().try_for_each(|prefetch| check_prefetch(collection, prefetch))
}

/// Refuses a filter that its collection has no index for.
pub(crate) fn check(collection: &Collection, filter: Option<&wire::Filter>) -> Result<(), Refusal> {
    match filter {
        Some(filter) if collection.is_strict => check_filter(collection, "", filter),
        Some(_) | None => Ok(()),
    }
}

fn check_filter(collection: &Collection, prefix: &str, filter: &wire::Filter) -> Result<(), Refusal> {
    let lists = [&filter.should, &filter.must, &filter.must_not];
    let others = filter.min_should.iter().flat_map(|min| &min.conditions);
    lists.into_iter().flatten().chain(others).try_for_each(|one| check_condition(collection, prefix, one))
}

fn check_condition(
    collection: &Collection,
    prefix: &str,
    condition: &wire::Condition,
) -> Result<(), Refusal> {
    use wire::condition::ConditionOneOf;
    let (key, needed) = match &condition.condition_one_of {
        Some(ConditionOneOf::Field(field)) => (&field.key, needed(field)),
        Some(ConditionOneOf::IsEmpty(of)) => (&of.key, ANY.to_vec()),
        Some(ConditionOneOf::IsNull(of)) => (&of.key, ANY.to_vec()),
        Some(ConditionOneOf::Filter(inner)) => return check_filter(collection, prefix, inner),
        Some(ConditionOneOf::Nested(of)) => {
            let prefix = format!("{prefix}{}[].", of.key.trim_end_matches("[]"));
            return of.filter.as_ref().map_or(Ok(()), |filter| check_filter(collection, &prefix, filter));
        }
        Some(ConditionOneOf::HasId(_) | ConditionOneOf::HasVector(_) | ConditionOneOf::Slice(_)) | None => {
            return Ok(());
        }
    };
    let key = format!("{prefix}{key}");
    let path = decode::key(&key)?;
    let schema = collection.info().payload_schema;
    let is_indexed = schema.get(&path).is_some_and(|index| needed.contains(&index.data_type));
    if needed.is_empty() || is_indexed {
        return Ok(());
    }
    let mut types: Vec<String> = needed.iter().map(|index| format!("{index:?}").to_lowercase()).collect();
    types.sort();
    Err(Refusal::Unindexed { key, types: types.join(", ") })
}

/// Returns the types of indexes of which a condition needs one. Empty if it needs no index.
fn needed(field: &wire::FieldCondition) -> Vec<Index> {
    use wire::r#match::MatchValue;
    let mut needed = match field.r#match.as_ref().and_then(|of| of.match_value.as_ref()) {
        Some(MatchValue::Keyword(_) | MatchValue::Prefix(_) | MatchValue::Substring(_)) => {
            vec![Index::Keyword]
        }
        Some(MatchValue::Keywords(of) | MatchValue::ExceptKeywords(of)) if of.strings.is_empty() => {
            Vec::new()
        }
        Some(MatchValue::Keywords(_) | MatchValue::ExceptKeywords(_)) => vec![Index::Keyword],
        Some(MatchValue::Integers(of) | MatchValue::ExceptIntegers(of)) if of.integers.is_empty() => {
            Vec::new()
        }
        Some(MatchValue::Integer(_) | MatchValue::Integers(_) | MatchValue::ExceptIntegers(_)) => {
            vec![Index::Integer]
        }
        Some(MatchValue::Boolean(_)) => vec![Index::Bool],
        Some(MatchValue::Text(_) | MatchValue::TextAny(_) | MatchValue::Phrase(_)) => vec![Index::Text],
        None => Vec::new(),
    };
    if field.range.is_some() {
        needed.extend([Index::Float, Index::Integer]);
    }
    if field.datetime_range.is_some() {
        needed.push(Index::Datetime);
    }
    if field.values_count.is_some() || field.is_empty.is_some() || field.is_null.is_some() {
        needed.extend(ANY);
    }
    needed
}
