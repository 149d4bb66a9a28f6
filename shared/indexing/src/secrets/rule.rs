//! A rule for the content of a file.

use std::ops::Range;
use std::sync::OnceLock;

use ignore::gitignore::Gitignore;
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

use super::path_set::path_set;

/// A rule as in the data file, which describes the members.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleSource {
    id: String,
    #[serde(default)]
    paths: Vec<String>,
    pub(super) keywords: Vec<String>,
    #[serde(default)]
    entropy: f64,
    #[serde(default)]
    mixed: bool,
    pattern: String,
}

/// A rule for the content of a file.
pub(super) struct Rule {
    pub(super) id: String,
    /// The files that it applies to. `None` for all.
    paths: Option<Gitignore>,
    entropy: f64,
    mixed: bool,
    pattern: String,
    /// Compiled at the first keyword; most rules never have one.
    regex: OnceLock<Option<Regex>>,
}

impl Rule {
    /// Creates a rule, or `None` if its paths are invalid.
    pub(super) fn new(source: RuleSource) -> Option<Self> {
        let RuleSource { id, paths, entropy, mixed, pattern, .. } = source;
        let paths = match paths.is_empty() {
            true => None,
            false => Some(path_set(paths.iter().map(String::as_str)).ok()?),
        };
        Some(Self { id, paths, entropy, mixed, pattern, regex: OnceLock::new() })
    }

    pub(super) fn applies_to(&self, path: &str) -> bool {
        self.paths.as_ref().is_none_or(|paths| paths.matched(path, false).is_ignore())
    }

    pub(super) fn regex(&self) -> Option<&Regex> {
        // Without Unicode, classes are small, as in the engine that most patterns were written for.
        let compile = || RegexBuilder::new(&self.pattern).unicode(false).build().ok();
        self.regex.get_or_init(compile).as_ref()
    }

    /// Returns the offset of the first secret within a range. An invalid pattern matches everywhere.
    pub(super) fn find(
        &self,
        text: &[u8],
        range: Range<usize>,
        is_placeholder: impl Fn(&[u8]) -> bool,
    ) -> Option<usize> {
        let Some(regex) = self.regex() else { return Some(range.start) };
        let text = text.get(..range.end)?;
        let mut from = range.start;
        while from <= text.len() {
            let captures = regex.captures_at(text, from)?;
            let whole = captures.get_match();
            let value = captures.get(1).unwrap_or(whole);
            if self.is_secret(value.as_bytes()) && !is_placeholder(value.as_bytes()) {
                return Some(value.start());
            }
            from = whole.end().max(from + 1);
        }
        None
    }

    fn is_secret(&self, value: &[u8]) -> bool {
        entropy(value) >= self.entropy && (!self.mixed || is_mixed(value))
    }
}

/// Returns true for a value with letters and digits that isn't the name of a constant: `TOKEN_V2`.
fn is_mixed(value: &[u8]) -> bool {
    let in_constant = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    let is_constant = value.contains(&b'_') && value.iter().all(in_constant);
    value.iter().any(u8::is_ascii_digit) && value.iter().any(u8::is_ascii_alphabetic) && !is_constant
}

/// Returns the Shannon entropy in bits per byte.
fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let length = f64::from(u32::try_from(value.len()).unwrap_or(u32::MAX));
    let shares = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / length);
    -shares.map(|share| share * share.log2()).sum::<f64>()
}
