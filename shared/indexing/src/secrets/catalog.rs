//! The rules for secrets, read from their data file.

use aho_corasick::AhoCorasick;
use ignore::Match;
use ignore::gitignore::Gitignore;
use serde::Deserialize;

use super::finding::Finding;
use super::path_set::path_set;
use super::rule::{Rule, RuleSource};

/// The text before a keyword in which the match may begin, in bytes.
const BEFORE: usize = 128;
/// The distance between two searches of a rule, in bytes. Keywords in between are part of the first search.
const STRIDE: usize = 512;
/// The text behind the last keyword of a search in which the match must end, in bytes.
const BEHIND: usize = 1_024;

/// The data file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    names: Vec<String>,
    placeholders: Vec<String>,
    rules: Vec<RuleSource>,
}

/// The rules for names and contents.
pub(super) struct Catalog {
    names: Gitignore,
    /// Matches in any case, like the keywords.
    placeholders: AhoCorasick,
    rules: Vec<Rule>,
    keywords: AhoCorasick,
    /// The index of each keyword's rule.
    keyword_rules: Vec<usize>,
}

impl Catalog {
    /// Reads the data file, or `None` if it is invalid, which a test excludes.
    pub(super) fn read() -> Option<Self> {
        let source: Source = yaml_serde::from_str(include_str!("../../data/secrets.yaml")).ok()?;
        let names = path_set(source.names.iter().map(String::as_str)).ok()?;
        let (mut keywords, mut keyword_rules) = (Vec::new(), Vec::new());
        for (rule, index) in source.rules.iter().zip(0..) {
            keyword_rules.extend(rule.keywords.iter().map(|_| index));
            keywords.extend(rule.keywords.iter().cloned());
        }
        let rules: Option<Vec<Rule>> = source.rules.into_iter().map(Rule::new).collect();
        Some(Self {
            names,
            placeholders: any_case(&source.placeholders)?,
            rules: rules?,
            keywords: any_case(&keywords)?,
            keyword_rules,
        })
    }

    pub(super) fn find_in_name(&'static self, path: &str) -> Option<Finding> {
        match self.names.matched(path, false) {
            Match::Ignore(pattern) => Some(Finding::Name(pattern.original())),
            Match::None | Match::Whitelist(_) => None,
        }
    }

    pub(super) fn find_in_text(&'static self, path: &str, text: &str) -> Option<Finding> {
        // The offset up to which each rule has been searched.
        let mut searched = vec![0; self.rules.len()];
        for keyword in self.keywords.find_overlapping_iter(text) {
            let index = *self.keyword_rules.get(keyword.pattern().as_usize())?;
            let (rule, searched) = (self.rules.get(index)?, searched.get_mut(index)?);
            if keyword.start() < *searched {
                continue;
            }
            if !rule.applies_to(path) {
                *searched = text.len();
                continue;
            }
            *searched = keyword.start() + STRIDE;
            let from = keyword.start().saturating_sub(BEFORE);
            let to = text.len().min(*searched + BEHIND);
            let is_placeholder = |value: &[u8]| self.placeholders.is_match(value);
            if let Some(at) = rule.find(text.as_bytes(), from..to, is_placeholder) {
                let lines = text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count();
                let line = u32::try_from(lines).map_or(u32::MAX, |lines| lines.saturating_add(1));
                return Some(Finding::Content { rule: &rule.id, line });
            }
        }
        None
    }

    /// Returns the rules whose pattern is invalid.
    #[cfg(test)]
    pub(super) fn invalid_rules(&self) -> Vec<&str> {
        self.rules.iter().filter(|rule| rule.regex().is_none()).map(|rule| rule.id.as_str()).collect()
    }
}

fn any_case(words: &[String]) -> Option<AhoCorasick> {
    AhoCorasick::builder().ascii_case_insensitive(true).build(words).ok()
}
