//! Words in texts: what a search looks for, and where it is found. Case and accents don't matter.
//!
//! A word is found where a word of the text begins with it. In scripts that write no blanks it is found anywhere.

use std::ops::Range;

use agent::text::head;
use contracts::{
    read::{MatchedIn, SearchMark, SearchMatch},
    request::limits::{MAX_QUERY_CHARS, MAX_QUERY_WORDS},
};
use icu_normalizer::DecomposingNormalizerBorrowed;

/// How much of a text a snippet shows, in characters.
const SNIPPET_CHARS: usize = 240;

/// How much of that may stand before the first word that was found, in bytes.
const BEFORE_BYTES: usize = 80;

/// The most places that a snippet marks.
const MOST_MARKS: usize = 32;

/// Stands where a snippet begins or ends within its text.
const CUT: char = '…';

/// What a search looks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words(pub(crate) Vec<Vec<char>>);

/// Why a text is nothing that can be searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidWords {
    /// It has no word.
    #[error("must hold at least one word of letters or digits")]
    None,
    /// It is too long.
    #[error("must have at most {MAX_QUERY_CHARS} characters")]
    TooLong,
    /// It has too many words.
    #[error("must have at most {MAX_QUERY_WORDS} words")]
    TooMany,
}

/// Which of the words were found; one bit for each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Held(u8);

impl Held {
    /// Those that are here or there.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether there is any.
    #[must_use]
    pub fn any(self) -> bool {
        self.0 != 0
    }
}

/// Where words stand in a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// Which words.
    pub held: Held,
    /// Where, in bytes, in order.
    places: Vec<Range<usize>>,
}

impl Words {
    /// The words of a text.
    ///
    /// # Errors
    /// When there is none, or there are too many.
    pub fn parse(text: &str) -> Result<Self, InvalidWords> {
        if text.chars().count() > MAX_QUERY_CHARS {
            return Err(InvalidWords::TooLong);
        }
        let mut words: Vec<Vec<char>> = Vec::new();
        let folded: Vec<char> = Folded::of(text).chars;
        for word in folded.split(|char| !char.is_alphanumeric()).filter(|word| !word.is_empty()) {
            if !words.iter().any(|known| known == word) {
                words.push(word.to_vec());
            }
        }
        match words.len() {
            0 => Err(InvalidWords::None),
            more if more > MAX_QUERY_WORDS => Err(InvalidWords::TooMany),
            _ => Ok(Self(words)),
        }
    }

    /// Whether these are all the words.
    #[must_use]
    pub fn are_all(&self, Held(held): Held) -> bool {
        held.count_ones() as usize == self.0.len()
    }

    /// Where the words stand in a text.
    #[must_use]
    pub fn found_in(&self, text: &str) -> Found {
        let folded = Folded::of(text);
        let mut found = Found::default();
        for (number, word) in self.0.iter().enumerate() {
            for place in folded.places_of(word) {
                found.held = found.held.or(Held(1 << number));
                found.places.push(place);
            }
        }
        found.places.sort_by_key(|place| (place.start, std::cmp::Reverse(place.end)));
        found.places.dedup_by(|later, earlier| later.start < earlier.end);
        found
    }
}

impl Found {
    /// A snippet of the text with its words marked; none where it holds none of them.
    #[must_use]
    pub fn snippet(&self, matched_in: MatchedIn, text: &str) -> Option<SearchMatch> {
        let first = self.places.first()?;
        let begin = begin_of(text, first.start);
        let shown = head(text.get(begin..)?, SNIPPET_CHARS);
        let end = begin + shown.len();
        let mut snippet = String::with_capacity(shown.len() + 2 * CUT.len_utf8());
        if begin > 0 {
            snippet.push(CUT);
        }
        let shift = snippet.encode_utf16().count();
        // One character for another, so that places stay.
        snippet.extend(shown.chars().map(|char| if char.is_control() { ' ' } else { char }));
        if end < text.len() {
            snippet.push(CUT);
        }
        let units = |range: Range<usize>| text.get(range).map_or(0, |text| text.encode_utf16().count());
        let marks = self.places.iter().take_while(|place| place.end <= end).take(MOST_MARKS);
        let marks = marks.map(|place| SearchMark {
            start: (shift + units(begin..place.start)) as u64,
            length: units(place.clone()) as u64,
        });
        let marks = marks.collect();
        Some(SearchMatch { matched_in, turn_id: None, sequence_number: None, snippet, marks })
    }
}

/// Where a snippet begins that shows this place: at the beginning, or behind a blank shortly before it.
fn begin_of(text: &str, place: usize) -> usize {
    if place <= BEFORE_BYTES {
        return 0;
    }
    let earliest = text.ceil_char_boundary(place - BEFORE_BYTES);
    let before = text.get(earliest..place).unwrap_or_default();
    before.find(char::is_whitespace).map_or(earliest, |blank| text.ceil_char_boundary(earliest + blank + 1))
}

/// A text in lower case and without accents, and where each of its characters comes from.
pub(crate) struct Folded {
    pub(crate) chars: Vec<char>,
    /// The bytes of the text that the character stands for.
    from: Vec<Range<usize>>,
}

impl Folded {
    pub(crate) fn of(text: &str) -> Self {
        let normalizer = DecomposingNormalizerBorrowed::new_nfkd();
        let (mut chars, mut from) = (Vec::with_capacity(text.len()), Vec::with_capacity(text.len()));
        for (at, char) in text.char_indices() {
            let bytes = at..at + char.len_utf8();
            if char.is_ascii() {
                chars.push(char.to_ascii_lowercase());
                from.push(bytes);
                continue;
            }
            let parts = normalizer.normalize_iter(std::iter::once(char)).flat_map(char::to_lowercase);
            for part in parts.filter(|part| !is_accent(*part)) {
                chars.push(part);
                from.push(bytes.clone());
            }
        }
        Self { chars, from }
    }

    fn places_of(&self, word: &[char]) -> impl Iterator<Item = Range<usize>> {
        let spaced = word.first().is_some_and(|first| has_blanks(*first));
        let starts = self.chars.windows(word.len().max(1)).enumerate();
        starts.filter_map(move |(at, window)| {
            let before = at.checked_sub(1).and_then(|before| self.chars.get(before));
            let begins = !spaced || before.is_none_or(|before| !before.is_alphanumeric());
            (begins && window == word).then(|| self.bytes(at, at + word.len()))
        })
    }

    fn bytes(&self, from: usize, to: usize) -> Range<usize> {
        let start = self.from.get(from).map_or(0, |bytes| bytes.start);
        let end = to.checked_sub(1).and_then(|last| self.from.get(last)).map_or(start, |bytes| bytes.end);
        start..end
    }
}

/// The combining marks of Latin, Greek and Cyrillic. Those of other scripts tell letters apart.
fn is_accent(char: char) -> bool {
    ('\u{300}'..='\u{36F}').contains(&char)
}

/// Whether the script of a character writes blanks between words. Thai, Lao, Burmese and Khmer, Chinese and Japanese don't.
pub(crate) fn has_blanks(char: char) -> bool {
    !matches!(char,
        '\u{E00}'..='\u{EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{2E80}'..='\u{A4CF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(words: &str, text: &str) -> Vec<String> {
        let found = Words::parse(words).unwrap().found_in(text);
        found.places.into_iter().map(|place| text[place].to_owned()).collect()
    }

    #[test]
    fn case_and_accents_do_not_matter_and_a_word_is_found_where_one_begins() {
        assert_eq!(places("uber CAFE", "Über dem Café, ueber den cafés"), ["Über", "Café", "café"]);
        assert_eq!(places("cafe\u{301}", "CAFÉ"), ["CAFÉ"]);
        assert_eq!(places("art", "Start the art of arts"), ["art", "art"]);
        assert_eq!(places("user", "user_id, getUser(user)"), ["user", "user"]);
        assert_eq!(places("織", "組織の甲"), ["織"]);
        assert!(places("x", "").is_empty());
    }

    #[test]
    fn words_are_at_least_one_and_few() {
        assert_eq!(Words::parse(" -- ?"), Err(InvalidWords::None));
        assert_eq!(Words::parse(&"x".repeat(257)), Err(InvalidWords::TooLong));
        assert_eq!(Words::parse("a b c d e f g h i"), Err(InvalidWords::TooMany));
        assert!(Words::parse("a b c d e f g h A B").is_ok(), "a word twice is one");
    }

    #[test]
    fn all_words_are_held_only_together() {
        let words = Words::parse("red fox").unwrap();
        let (red, fox) = (words.found_in("A red hen").held, words.found_in("A foxy hen").held);
        assert!(!words.are_all(red) && !words.are_all(fox) && words.are_all(red.or(fox)));
        assert!(!words.found_in("A blue hen").held.any());
    }

    #[test]
    fn a_snippet_marks_its_words_in_utf16_units() {
        let text = format!("{} 🙂 Élan\nvital {}", "word ".repeat(40), "more ".repeat(100));
        let found = Words::parse("elan vital").unwrap().found_in(&text);
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
}
