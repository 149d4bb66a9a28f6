//! Filters: the points that a search may return. They are built only here.
//!
//! Every filter has a condition on the tenant, which is the verified caller's (I7), and one on the turn's agent, if the
//! collection has an index for it. A request's conditions narrow
//! the rest and grant nothing. A condition that names the tenant's key in any spelling is dropped, so a caller can't
//! even use it to empty a result. Hints rank: they are never a condition of the only search.
//!
//! The database compares words and whole values, not substrings without regard to case, and in its strict mode it refuses
//! keys without an index. [`payload_condition`] therefore evaluates the rest on the payload of each result.

pub mod payload_condition;

use std::collections::BTreeSet;

use agent::retrieval::{Hint, key};
use contracts::{
    id::{AgentContextId, OrgId},
    request::{RagCondition, RagOperator, RagValue},
};
use qdrant_client::qdrant::{
    Condition, FieldCondition, Filter, Match, PayloadSchemaType, Range, r#match::MatchValue,
};

use self::payload_condition::PayloadCondition;
use crate::collection::FilterKeys;

/// The request's name for the workspace key.
const WORKSPACE_ID: &str = "WorkspaceId";

/// The filters of one search.
#[derive(Debug, Clone, PartialEq)]
pub struct Filters {
    /// The points that the search may return, as far as the database can tell.
    pub base: Filter,
    /// The conditions that a result's payload must also meet.
    pub payload_conditions: Vec<PayloadCondition>,
    /// The subset of the base whose whole values or words match the conditions on parts, so that those are found however
    /// many other points are nearer. `None` without such conditions.
    pub whole_matches: Option<Filter>,
    /// The subset of the base that ranks higher. `None` without hints.
    pub hinted: Option<Filter>,
    /// The keys of conditions that were dropped, as the request spells them.
    pub ignored_keys: Vec<String>,
    /// The keys of conditions that aren't documented payload keys: the request's spelling and the database's path.
    pub custom_keys: Vec<(String, String)>,
    /// The keys of conditions that the database refuses for want of an index, as the request spells them.
    pub unindexed_keys: Vec<String>,
}

/// Builds the filters of a search in `org` by a turn of `agent`, in a collection with these `keys`.
#[must_use]
pub fn filters(
    org: &OrgId,
    agent: Option<&AgentContextId>,
    scope: &[RagCondition],
    hints: &[Hint],
    keys: &FilterKeys,
) -> Filters {
    let mut base = Filter::must([tenant_condition(org)]);
    if keys.accept(key::AGENT_CONTEXT_IDS, std::iter::once(PayloadSchemaType::Keyword)) {
        base.must.push(agent_condition(agent));
    }
    let (mut payload_conditions, mut whole_matches) = (Vec::new(), Vec::new());
    let (mut ignored_keys, mut custom_keys, mut unindexed_keys) = (Vec::new(), Vec::new(), Vec::new());
    for condition in scope {
        let Some(key) = key_path(&condition.key) else {
            ignored_keys.push(condition.key.clone());
            continue;
        };
        let is_text = keys.texts.contains(&key);
        let accepts_values = keys.accept(&key, index_types(condition, false));
        let accepts_words = keys.accept(&key, index_types(condition, is_text));
        if !names_payload_key(&key) && accepts_values {
            custom_keys.push((condition.key.clone(), key.clone()));
        }
        let any = any_of(&key, condition, &BTreeSet::new());
        let part = PayloadCondition::contains(&key, condition);
        match condition.operator {
            RagOperator::Contains if part.is_some() => {
                if accepts_words {
                    whole_matches.push(Filter::should(any_of(&key, condition, &keys.texts)).into());
                }
            }
            RagOperator::DoesNotContain if part.is_some() && !accepts_values => {}
            RagOperator::Equals | RagOperator::Contains if accepts_values => {
                base.must.push(Filter::should(any).into());
            }
            RagOperator::NotEquals | RagOperator::DoesNotContain if accepts_values => {
                base.must_not.extend(any)
            }
            operator => {
                payload_conditions.push(PayloadCondition::equals(&key, condition));
                // An equal text has the same words, if it has any.
                match operator {
                    RagOperator::Equals if accepts_words && condition.values.iter().all(has_words) => {
                        base.must.push(Filter::should(any_of(&key, condition, &keys.texts)).into());
                    }
                    _ if accepts_words => {}
                    _ => unindexed_keys.push(condition.key.clone()),
                }
            }
        }
        payload_conditions.extend(part);
    }
    let hints = hints.iter().filter_map(|hint| {
        let key = key_path(&hint.key)?;
        let (needed, hint) = if keys.texts.contains(&key) {
            (PayloadSchemaType::Text, Condition::matches_text(key.clone(), hint.value.clone()))
        } else {
            (PayloadSchemaType::Keyword, exact_match(&key, &hint.value))
        };
        keys.accept(&key, std::iter::once(needed)).then_some(hint)
    });
    let hints: Vec<Condition> = hints.collect();
    let subset = |conditions: Vec<Condition>| {
        let mut subset = base.clone();
        subset.must.extend(conditions);
        subset
    };
    let whole_matches = (!whole_matches.is_empty()).then(|| subset(whole_matches));
    let hinted = (!hints.is_empty()).then(|| subset(vec![Filter::should(hints).into()]));
    Filters { base, payload_conditions, whole_matches, hinted, ignored_keys, custom_keys, unindexed_keys }
}

/// Returns a filter that matches the org's points that have a value under this key.
pub(crate) fn has_key(org: &OrgId, key: &str) -> Filter {
    Filter {
        must: vec![tenant_condition(org)],
        must_not: vec![Condition::is_empty(key)],
        ..Filter::default()
    }
}

/// Returns a filter that matches every point of a repository of the org, for the indexer.
#[must_use]
pub fn of_repo(org: &OrgId, repo: &str) -> Filter {
    Filter::must([tenant_condition(org), exact_match(key::REPO, repo)])
}

/// Returns the condition that the agent may have the point. A search drops results that it may not have too, so it
/// needs no index.
fn agent_condition(agent: Option<&AgentContextId>) -> Condition {
    let of_every_agent = Condition::is_empty(key::AGENT_CONTEXT_IDS);
    let of_this_agent = agent.map(|agent| exact_match(key::AGENT_CONTEXT_IDS, agent.as_str()));
    Filter::should(std::iter::once(of_every_agent).chain(of_this_agent)).into()
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
/// and membership in a list. Of a text in `texts`, it requires the words of a value.
fn any_of(key: &str, condition: &RagCondition, texts: &BTreeSet<String>) -> Vec<Condition> {
    let by_word = texts.contains(key);
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
    // A range, which finds 3.0 too: indexers in languages without integers write doubles.
    #[expect(clippy::cast_precision_loss, reason = "a condition's numbers are within 2^53")]
    any.extend(numbers.into_iter().map(|number| {
        let (gte, lte) = (Some(number as f64), Some(number as f64));
        Condition::range(key, Range { gte, lte, ..Range::default() })
    }));
    any.extend(flags.into_iter().map(|flag| Condition::matches(key, flag)));
    any
}

/// Returns true for a text that a word search can find.
fn has_words(value: &RagValue) -> bool {
    matches!(value, RagValue::Text(text) if text.contains(char::is_alphanumeric))
}

/// Returns the types of indexes by which the database compares a condition's values: texts by their words, or as a whole.
fn index_types(condition: &RagCondition, by_word: bool) -> impl Iterator<Item = PayloadSchemaType> {
    condition.values.iter().map(move |value| match value {
        RagValue::Text(_) if by_word => PayloadSchemaType::Text,
        RagValue::Text(_) => PayloadSchemaType::Keyword,
        RagValue::Integer(_) => PayloadSchemaType::Integer,
        RagValue::Flag(_) => PayloadSchemaType::Bool,
    })
}

/// Returns the key as the database parses it: a path of names separated by dots, each optionally followed by `[]` or
/// an index. Any other key is one quoted name. `None` if it names the tenant, or can't be a key at all.
fn key_path(key: &str) -> Option<String> {
    let key = key.trim();
    if names_tenant(key) {
        return None;
    }
    if key.split('.').all(is_path_segment) {
        let (name, rest) = key.split_at(key.find(['.', '[']).unwrap_or(key.len()));
        return Some(format!("{}{rest}", payload_name(name)));
    }
    let can_be_quoted = !key.is_empty() && !key.contains(['"', '\\']) && !key.contains(char::is_control);
    can_be_quoted.then(|| format!("\"{key}\""))
}

/// Returns the payload's spelling of a name: documented keys are recognized without regard to case, as members of a
/// request are, and any other name is the indexer's.
fn payload_name(name: &str) -> &str {
    if name.eq_ignore_ascii_case(WORKSPACE_ID) {
        return key::PROJECT_ID;
    }
    key::ALL.iter().find(|known| known.eq_ignore_ascii_case(name)).copied().unwrap_or(name)
}

/// Returns true if the path is a documented payload key, or one of its items.
fn names_payload_key(path: &str) -> bool {
    let (name, rest) = path.split_at(path.find('[').unwrap_or(path.len()));
    key::ALL.contains(&name) && !rest.contains('.')
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
