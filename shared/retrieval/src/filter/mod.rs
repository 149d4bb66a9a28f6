//! Filters: the points that a search may return. They are built only here.
//!
//! Every filter has a condition on the tenant, which is the verified caller's (I7). A request's conditions narrow
//! the rest and grant nothing. A condition that names the tenant's key in any spelling is dropped, so a caller can't
//! even use it to empty a result. Hints rank: they are never a condition of the only search.

use std::collections::BTreeSet;

use agent::retrieval::{Hint, key};
use contracts::{
    id::OrgId,
    request::{RagCondition, RagOperator, RagValue},
};
use qdrant_client::qdrant::{Condition, FieldCondition, Filter, Match, r#match::MatchValue};

/// The request's name for the workspace key.
const WORKSPACE_ID: &str = "WorkspaceId";

/// The filters of one search.
#[derive(Debug, Clone, PartialEq)]
pub struct Filters {
    /// The points that the search may return.
    pub base: Filter,
    /// The subset of those that ranks higher; none without hints.
    pub hinted: Option<Filter>,
}

/// Builds the filters of a search in `org`. `texts` are the payload keys that hold text.
#[must_use]
pub fn filters(org: &OrgId, scope: &[RagCondition], hints: &[Hint], texts: &BTreeSet<String>) -> Filters {
    let mut base = Filter::must([tenant_condition(org)]);
    for condition in scope {
        let Some(key) = key_path(&condition.key) else { continue };
        let any = any_of(&key, condition, texts);
        match condition.operator {
            RagOperator::Equals | RagOperator::Contains => base.must.push(Filter::should(any).into()),
            RagOperator::NotEquals | RagOperator::DoesNotContain => base.must_not.extend(any),
        }
    }
    let hints = hints.iter().filter_map(|hint| {
        let key = key_path(&hint.key)?;
        Some(if texts.contains(&key) {
            Condition::matches_text(key, hint.value.clone())
        } else {
            exact_match(&key, &hint.value)
        })
    });
    let hints: Vec<Condition> = hints.collect();
    let hinted = (!hints.is_empty()).then(|| {
        let mut hinted = base.clone();
        hinted.must.push(Filter::should(hints).into());
        hinted
    });
    Filters { base, hinted }
}

/// Returns the tenant condition, which every filter has.
fn tenant_condition(org: &OrgId) -> Condition {
    exact_match(key::ORG_ID, org.as_str())
}

/// Returns a condition that matches exactly this value. The client library's own conversion turns text with a space
/// into a word search, in which one org could match another.
pub(crate) fn exact_match(key: &str, value: &str) -> Condition {
    let exact_value = Match { match_value: Some(MatchValue::Keyword(value.to_owned())) };
    FieldCondition { key: key.to_owned(), r#match: Some(exact_value), ..FieldCondition::default() }.into()
}

/// Returns a condition per type of value, of which at least one must hold. Keywords and numbers form one list each.
///
/// A list in the payload matches if any of its items does, so the same condition tests equality of a single value
/// and membership in a list. In a text, `contains` searches for words.
fn any_of(key: &str, condition: &RagCondition, texts: &BTreeSet<String>) -> Vec<Condition> {
    let by_word = texts.contains(key)
        && matches!(condition.operator, RagOperator::Contains | RagOperator::DoesNotContain);
    let (mut words, mut numbers, mut flags) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for value in condition.values.iter() {
        match value {
            RagValue::Text(text) => _ = words.insert(text.clone()),
            RagValue::Integer(number) => _ = numbers.insert(*number),
            RagValue::Flag(flag) => _ = flags.insert(*flag),
        }
    }
    let mut any = Vec::new();
    if by_word {
        any.extend(words.into_iter().map(|text| Condition::matches_text(key, text)));
    } else if !words.is_empty() {
        any.push(Condition::matches(key, words.into_iter().collect::<Vec<String>>()));
    }
    if !numbers.is_empty() {
        any.push(Condition::matches(key, numbers.into_iter().collect::<Vec<i64>>()));
    }
    any.extend(flags.into_iter().map(|flag| Condition::matches(key, flag)));
    any
}

/// Returns the key as the database parses it: a path of names separated by dots, each optionally followed by `[]` or
/// an index. Any other key is one quoted name. None if it names the tenant, or can't be a key at all.
fn key_path(key: &str) -> Option<String> {
    let key = key.trim();
    if names_tenant(key) {
        return None;
    }
    let key = if key == WORKSPACE_ID { key::PROJECT_ID } else { key };
    if key.split('.').all(is_path_segment) {
        return Some(key.to_owned());
    }
    let can_be_quoted = !key.is_empty() && !key.contains(['"', '\\']) && !key.contains(char::is_control);
    can_be_quoted.then(|| format!("\"{key}\""))
}

/// Returns true if any part of the key names the tenant, in any case and with any punctuation.
fn names_tenant(key: &str) -> bool {
    let letters =
        |part: &str| part.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let tenant: String = letters(key::ORG_ID);
    key.split(['.', '[', ']', '/', '"']).any(|part| {
        let part: String = letters(part);
        part == tenant
    })
}

/// Returns true for one segment of a path: letters, digits, `_` and `-`, then any number of `[]` and `[n]`.
fn is_path_segment(segment: &str) -> bool {
    let (name, rest) = segment.split_at(segment.find('[').unwrap_or(segment.len()));
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let mut rest = rest;
    while let Some(inner) = rest.strip_prefix('[') {
        let Some((index, remainder)) = inner.split_once(']') else { return false };
        if index.len() > 9 || !index.bytes().all(|digit| digit.is_ascii_digit()) {
            return false;
        }
        rest = remainder;
    }
    !name.is_empty() && name.chars().all(is_name) && rest.is_empty()
}

#[cfg(test)]
pub(crate) mod tests;
