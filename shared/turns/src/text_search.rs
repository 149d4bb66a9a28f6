//! Text search, ignoring case, accents and variants of letters.
//!
//! A search term matches a word that starts with it; where scripts meet without a space, a word starts. In scripts without
//! spaces a term matches anywhere.
//!
//! The index of sessions stores and searches prefix terms. The terms of a text are the prefixes of its words and, for
//! scripts without spaces, each character and each pair of characters. A word ends where scripts meet. A text that matches
//! a search has all the search's terms, so the index never misses a match. It may return false matches, which
//! [`SearchTerms`] sorts out.
//!
//! Entries that are stored keep their terms. After a change here, the index has to count as empty:
//! `shared/retrieval/src/sessions/layout.rs` says how.

use std::{collections::BTreeSet, ops::Range};

use agent::text::head;
use contracts::{
    read::{MatchedIn, SearchMark, SearchMatch},
    request::limits::{MAX_QUERY_CHARS, MAX_QUERY_WORDS},
};

pub use crate::folded_text::is_spaced;
use crate::folded_text::{FoldedText, begins_word, segments};

/// The length of a snippet, in characters.
const SNIPPET_CHARS: usize = 240;

/// The most bytes of a snippet before the first match.
const MAX_BYTES_BEFORE_MATCH: usize = 80;

/// The most marks in a snippet.
const MAX_MARKS: usize = 32;

/// Marks the start or end of a snippet within its text.
const ELLIPSIS: char = '…';

/// The terms of a search, case-folded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchTerms(pub(crate) Vec<Vec<char>>);

/// The reason that a search text is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSearchTerms {
    /// It has no words.
    #[error("must hold at least one word of letters or digits")]
    None,
    /// It is too long.
    #[error("must have at most {MAX_QUERY_CHARS} characters")]
    TooLong,
    /// It has too many words.
    #[error("must have at most {MAX_QUERY_WORDS} words")]
    TooMany,
}

/// The set of terms that matched, as a bit per term.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MatchedTerms(u8);

impl MatchedTerms {
    /// Returns the union.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns true if any term matched.
    #[must_use]
    pub fn any(self) -> bool {
        self.0 != 0
    }
}

/// The matches in a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextMatches {
    /// The matched terms.
    pub matched: MatchedTerms,
    /// The byte ranges of the matches, in order.
    ranges: Vec<Range<usize>>,
}

impl SearchTerms {
    /// Parses a search text.
    ///
    /// # Errors
    /// Fails if it has no words, or too many.
    pub fn parse(text: &str) -> Result<Self, InvalidSearchTerms> {
        if text.chars().count() > MAX_QUERY_CHARS {
            return Err(InvalidSearchTerms::TooLong);
        }
        let mut words: Vec<Vec<char>> = Vec::new();
        for word in FoldedText::new(text).runs() {
            if !words.iter().any(|known| known == word) {
                words.push(word.to_vec());
            }
        }
        match words.len() {
            0 => Err(InvalidSearchTerms::None),
            more if more > MAX_QUERY_WORDS => Err(InvalidSearchTerms::TooMany),
            _ => Ok(Self(words)),
        }
    }

    /// Returns true if every term matched.
    #[must_use]
    pub fn matches_all(&self, MatchedTerms(matched): MatchedTerms) -> bool {
        matched.count_ones() as usize == self.0.len()
    }

    /// Finds the terms in a text.
    #[must_use]
    pub fn find_in(&self, text: &str) -> TextMatches {
        let folded = FoldedText::new(text);
        let mut found = TextMatches::default();
        for (number, word) in self.0.iter().enumerate() {
            for range in ranges_of(word, &folded) {
                found.matched = found.matched.or(MatchedTerms(1 << number));
                found.ranges.push(range);
            }
        }
        found.ranges.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
        found.ranges.dedup_by(|later, earlier| later.start < earlier.end);
        found
    }
}

impl TextMatches {
    /// Returns a snippet of the text with its matches marked. `None` without a match.
    #[must_use]
    pub fn snippet(&self, matched_in: MatchedIn, text: &str) -> Option<SearchMatch> {
        let first = self.ranges.first()?;
        let begin = snippet_start(text, first.start);
        let shown = head(text.get(begin..)?, SNIPPET_CHARS);
        let end = begin + shown.len();
        let mut snippet = String::with_capacity(shown.len() + 2 * ELLIPSIS.len_utf8());
        if begin > 0 {
            snippet.push(ELLIPSIS);
        }
        let shift = snippet.encode_utf16().count();
        // Replace one character by one, so that positions stay valid.
        snippet.extend(shown.chars().map(|char| if char.is_control() { ' ' } else { char }));
        if end < text.len() {
            snippet.push(ELLIPSIS);
        }
        let units = |range: Range<usize>| text.get(range).map_or(0, |text| text.encode_utf16().count());
        let marks = self.ranges.iter().take_while(|range| range.end <= end).take(MAX_MARKS);
        let marks = marks.map(|range| SearchMark {
            start: (shift + units(begin..range.start)) as u64,
            length: units(range.clone()) as u64,
        });
        let marks = marks.collect();
        Some(SearchMatch { matched_in, turn_id: None, sequence_number: None, snippet, marks })
    }
}

/// Returns the start of a snippet that shows this match: the start of the text, or a word shortly before the match.
fn snippet_start(text: &str, range: usize) -> usize {
    if range <= MAX_BYTES_BEFORE_MATCH {
        return 0;
    }
    let earliest = text.ceil_char_boundary(range - MAX_BYTES_BEFORE_MATCH);
    let before = text.get(earliest..range).unwrap_or_default();
    before.find(char::is_whitespace).map_or(earliest, |blank| text.ceil_char_boundary(earliest + blank + 1))
}

/// Returns the sources of a term's matches.
fn ranges_of(word: &[char], text: &FoldedText) -> impl Iterator<Item = Range<usize>> {
    let first = word.first().copied();
    let starts = text.chars.windows(word.len().max(1)).enumerate();
    starts.filter(move |(_, window)| *window == word).filter_map(move |(at, _)| {
        let before = at.checked_sub(1).and_then(|before| text.chars.get(before)).copied();
        let begins = first.is_some_and(|first| !is_spaced(first) || begins_word(before, first));
        begins.then(|| text.source(at, at + word.len()))
    })
}

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

    fn ranges(words: &str, text: &str) -> Vec<String> {
        let found = SearchTerms::parse(words).unwrap().find_in(text);
        found.ranges.into_iter().map(|range| text[range].to_owned()).collect()
    }

    #[test]
    fn search_ignores_case_and_accents_and_matches_prefixes() {
        assert_eq!(ranges("uber CAFE", "Über dem Café, ueber den cafés"), ["Über", "Café", "café"]);
        assert_eq!(ranges("cafe\u{301}", "CAFÉ"), ["CAFÉ"]);
        assert_eq!(ranges("art", "Start the art of arts"), ["art", "art"]);
        assert_eq!(ranges("user", "user_id, getUser(user)"), ["user", "user"]);
        assert_eq!(ranges("織", "組織の甲"), ["織"]);
        assert!(ranges("x", "").is_empty());
    }

    #[test]
    fn search_needs_one_word_and_allows_few() {
        assert_eq!(SearchTerms::parse(" -- ?"), Err(InvalidSearchTerms::None));
        assert_eq!(SearchTerms::parse(&"x".repeat(257)), Err(InvalidSearchTerms::TooLong));
        assert_eq!(SearchTerms::parse("a b c d e f g h i"), Err(InvalidSearchTerms::TooMany));
        assert!(SearchTerms::parse("a b c d e f g h A B").is_ok(), "a word twice is one");
    }

    #[test]
    fn matches_of_several_texts_combine() {
        let words = SearchTerms::parse("red fox").unwrap();
        let (red, fox) = (words.find_in("A red hen").matched, words.find_in("A foxy hen").matched);
        assert!(!words.matches_all(red) && !words.matches_all(fox) && words.matches_all(red.or(fox)));
        assert!(!words.find_in("A blue hen").matched.any());
    }

    #[test]
    fn snippet_marks_are_in_utf16_units() {
        let text = format!("{} 🙂 Élan\nvital {}", "word ".repeat(40), "more ".repeat(100));
        let found = SearchTerms::parse("elan vital").unwrap().find_in(&text);
        let shown = found.snippet(MatchedIn::Answer, &text).unwrap();
        assert!(shown.snippet.starts_with('…') && shown.snippet.ends_with('…'), "{}", shown.snippet);
        assert!(shown.snippet.chars().count() <= SNIPPET_CHARS + 2 && !shown.snippet.contains('\n'));
        let units: Vec<u16> = shown.snippet.encode_utf16().collect();
        let marked = |mark: &SearchMark| {
            let (start, length) = (mark.start as usize, mark.length as usize);
            String::from_utf16(&units[start..start + length]).unwrap()
        };
        assert_eq!(shown.marks.iter().map(marked).collect::<Vec<_>>(), ["Élan", "vital"]);
    }

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
