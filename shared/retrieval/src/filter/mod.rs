//! The filter: which points a search may return. Built here and nowhere else.
//!
//! The tenant is a condition of every filter, and it is the verified caller's (I7). What a request asks for narrows
//! the rest and grants nothing; what names the tenant's key in any spelling is left out, so that nobody can even empty
//! a result by it. Hints rank: they never are a condition of the only search.

use std::collections::BTreeSet;

use agent::retrieval::{Hint, key};
use contracts::{
    id::OrgId,
    request::{RagCondition, RagOperator, RagValue},
};
use qdrant_client::qdrant::{Condition, FieldCondition, Filter, Match, r#match::MatchValue};

/// What a request calls the key of the workspace.
const WORKSPACE_ID: &str = "WorkspaceId";

/// The filters of one search.
#[derive(Debug, Clone, PartialEq)]
pub struct Filters {
    /// What may be found.
    pub plain: Filter,
    /// The part of it that ranks higher; none without hints.
    pub hinted: Option<Filter>,
}

/// The filters of a search of `org`. `texts` are the payload keys that hold text.
#[must_use]
pub fn filters(org: &OrgId, scope: &[RagCondition], hints: &[Hint], texts: &BTreeSet<String>) -> Filters {
    let mut plain = Filter::must([tenant(org)]);
    for condition in scope {
        let Some(key) = path_of(&condition.key) else { continue };
        let any = any_of(&key, condition, texts);
        match condition.operator {
            RagOperator::Equals | RagOperator::Contains => plain.must.push(Filter::should(any).into()),
            RagOperator::NotEquals | RagOperator::DoesNotContain => plain.must_not.extend(any),
        }
    }
    let hints = hints.iter().filter_map(|hint| {
        let key = path_of(&hint.key)?;
        Some(if texts.contains(&key) {
            Condition::matches_text(key, hint.value.clone())
        } else {
            keyword(&key, &hint.value)
        })
    });
    let hints: Vec<Condition> = hints.collect();
    let hinted = (!hints.is_empty()).then(|| {
        let mut hinted = plain.clone();
        hinted.must.push(Filter::should(hints).into());
        hinted
    });
    Filters { plain, hinted }
}

/// The condition that every filter has.
fn tenant(org: &OrgId) -> Condition {
    keyword(key::ORG_ID, org.as_str())
}

/// Exactly this word. The client's own conversion of a text makes a search for words of one that has a space in it,
/// and then one org would match another.
pub(crate) fn keyword(key: &str, value: &str) -> Condition {
    let exactly = Match { match_value: Some(MatchValue::Keyword(value.to_owned())) };
    FieldCondition { key: key.to_owned(), r#match: Some(exactly), ..FieldCondition::default() }.into()
}

/// A condition per kind of value, one of which has to hold: words and numbers as one list each.
///
/// A list in the payload fulfils them by any of its items, so the same condition is equality of a single value and
/// membership of a list. In a text `contains` looks for words.
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

/// The key as the database reads it: a path of names with dots between, each perhaps with `[]` or an index. Any other
/// key is one name, in quotes. None where it is the tenant's, or can be no key at all.
fn path_of(key: &str) -> Option<String> {
    let key = key.trim();
    if names_tenant(key) {
        return None;
    }
    let key = if key == WORKSPACE_ID { key::PROJECT_ID } else { key };
    if key.split('.').all(is_step) {
        return Some(key.to_owned());
    }
    let can_be_quoted = !key.is_empty() && !key.contains(['"', '\\']) && !key.contains(char::is_control);
    can_be_quoted.then(|| format!("\"{key}\""))
}

/// Whether any part of the key is the tenant's, whatever stands around it and in whatever case.
fn names_tenant(key: &str) -> bool {
    let letters =
        |part: &str| part.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let tenant: String = letters(key::ORG_ID);
    key.split(['.', '[', ']', '/', '"']).any(|part| {
        let part: String = letters(part);
        part == tenant
    })
}

/// One name of a path: letters, digits, `_` and `-`, then any number of `[]` and `[n]`.
fn is_step(step: &str) -> bool {
    let (name, rest) = step.split_at(step.find('[').unwrap_or(step.len()));
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let mut rest = rest;
    while let Some(inner) = rest.strip_prefix('[') {
        let Some((index, after)) = inner.split_once(']') else { return false };
        if index.len() > 9 || !index.bytes().all(|digit| digit.is_ascii_digit()) {
            return false;
        }
        rest = after;
    }
    !name.is_empty() && name.chars().all(is_name) && rest.is_empty()
}

#[cfg(test)]
pub(crate) mod tests;
