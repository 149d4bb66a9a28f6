//! Prefix terms: the units that the index of sessions stores and searches.
//!
//! A search term matches a word that starts with it, and in scripts without spaces it matches anywhere. So the terms
//! of a text are the prefixes of its words and, for scripts without spaces, each character and each pair of
//! characters. A word ends where scripts meet. A text that matches a search has all the search's terms, so the index never
//! misses a match. It may return false matches, which [`SearchTerms`] sorts out.
//!
//! Entries that are stored keep their terms. After a change here, the index has to count as empty:
//! `shared/retrieval/src/sessions/layout.rs` says how.

use std::collections::BTreeSet;

use crate::{
    folded_text::{FoldedText, is_spaced, segments},
    text_search::SearchTerms,
};

/// The longest prefix, in characters. That is enough to tell most words apart.
const MAX_PREFIX_CHARS: usize = 12;

/// The most terms in a query. All of them must match, so fewer terms match more sessions.
const MAX_QUERY_TERMS: usize = 16;

/// The most terms of a session in the index. A search may miss sessions with more.
pub const MAX_TERMS: usize = 65_536;

impl SearchTerms {
    /// Returns the terms that every matching text has.
    #[must_use]
    pub fn terms(&self) -> BTreeSet<String> {
        let segments = self.0.iter().flat_map(|word| segments(word));
        let terms = segments.flat_map(|segment| match segment {
            [first, ..] if is_spaced(*first) => vec![prefix(segment, MAX_PREFIX_CHARS)],
            [only] => vec![only.to_string()],
            segment => pairs(segment).collect(),
        });
        terms.take(MAX_QUERY_TERMS).collect()
    }
}

/// Adds the terms of a text, up to the limit.
pub fn add_terms(text: &str, terms: &mut BTreeSet<String>) {
    for segment in FoldedText::new(text).runs().flat_map(segments) {
        let is_spaced = segment.first().is_some_and(|first| is_spaced(*first));
        let longest = if is_spaced { segment.len().min(MAX_PREFIX_CHARS) } else { 0 };
        let prefixes = (1..=longest).map(|length| prefix(segment, length));
        let unspaced = if is_spaced { &[][..] } else { segment };
        for term in prefixes.chain(unspaced.iter().map(char::to_string)).chain(pairs(unspaced)) {
            if terms.len() >= MAX_TERMS {
                return;
            }
            terms.insert(term);
        }
    }
}

fn prefix(word: &[char], length: usize) -> String {
    word.iter().take(length).collect()
}

/// Returns each character together with the next one.
fn pairs(segment: &[char]) -> impl Iterator<Item = String> {
    segment.array_windows().map(|pair: &[char; 2]| pair.iter().collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn terms_of(text: &str) -> BTreeSet<String> {
        let mut terms = BTreeSet::new();
        add_terms(text, &mut terms);
        terms
    }

    #[test]
    fn text_yields_prefixes_and_unspaced_chars_and_pairs() {
        let expected = |terms: &[&str]| terms.iter().map(|term| (*term).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(terms_of("Café, ab"), expected(&["c", "ca", "caf", "cafe", "a", "ab"]));
        assert_eq!(terms_of("組織x"), expected(&["組", "織", "組織", "x"]));
        assert_eq!(
            SearchTerms::parse("CAFÉ 組織x 組").unwrap().terms(),
            expected(&["cafe", "組織", "x", "組"])
        );
        assert_eq!(SearchTerms::parse("internationalization").unwrap().terms(), expected(&["internationa"]));
    }

    #[test]
    fn session_terms_are_capped() {
        let mut terms = BTreeSet::new();
        for number in 0..100_000 {
            add_terms(&format!("{number}x"), &mut terms);
        }
        assert_eq!(terms.len(), MAX_TERMS);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn matching_text_has_all_query_terms(
            text in "([a-cA-Cßé組織ーか\u{3099}ก่ขд가ि\u{94d}\u{200b}٢ ,_1-2]{0,40})",
            words in "([a-céß組織ーか\u{3099}ก่ขд가ि\u{94d}٢1 ]{1,6})",
        ) {
            if let Ok(words) = SearchTerms::parse(&words)
                && words.matches_all(words.find_in(&text).matched)
            {
                prop_assert!(words.terms().is_subset(&terms_of(&text)), "{:?} in {text}", words.terms());
            }
        }

        #[test]
        fn excerpt_from_word_start_shares_terms_with_text(
            text in "\\PC{0,60}", at in 0usize..60, length in 1usize..20,
        ) {
            let cut: String = text.chars().skip(at).take(length).collect();
            if let Ok(words) = SearchTerms::parse(&cut)
                && words.matches_all(words.find_in(&text).matched)
            {
                prop_assert!(words.terms().is_subset(&terms_of(&text)), "{:?} in {text}", words.terms());
            }
        }
    }
}
