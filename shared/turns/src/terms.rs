//! Terms: what an index of sessions holds, and is asked for, in the place of words.
//!
//! A word is found where one begins with it, and in scripts that write no blanks anywhere. So the terms of a text are the
//! beginnings of its words, and of such scripts each sign and each pair of signs. A text that holds words has all their
//! terms: the index leaves out nothing that is to be found. The other way round is for [`Words`] to say.

use std::collections::BTreeSet;

use crate::words::{Folded, Words, has_blanks};

/// The longest beginning of a word, in characters: what tells two words apart stands there.
const LONGEST: usize = 12;

/// The most terms that a search asks for. All of them have to be there, so fewer find more.
const MOST_ASKED: usize = 16;

/// The most terms that a session has in the index. One whose texts have more may be missed.
pub const MOST_TERMS: usize = 65_536;

impl Words {
    /// What a text has that holds all the words.
    #[must_use]
    pub fn terms(&self) -> BTreeSet<String> {
        let terms = self.0.iter().flat_map(|word| match word.as_slice() {
            [first, ..] if has_blanks(*first) => vec![beginning(word, LONGEST)],
            [only] => vec![only.to_string()],
            word => pairs(word).collect(),
        });
        terms.take(MOST_ASKED).collect()
    }
}

/// Adds the terms of a text, as long as there are not too many.
pub fn add_terms(text: &str, terms: &mut BTreeSet<String>) {
    let folded = Folded::of(text).chars;
    for word in folded.split(|char| !char.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let spaced = word.first().is_some_and(|first| has_blanks(*first));
        let beginnings =
            (1..=word.len().min(LONGEST)).filter(|_| spaced).map(|length| beginning(word, length));
        let signs = word.iter().filter(|sign| !has_blanks(**sign)).map(char::to_string);
        for term in beginnings.chain(signs).chain(pairs(word)) {
            if terms.len() >= MOST_TERMS {
                return;
            }
            terms.insert(term);
        }
    }
}

fn beginning(word: &[char], length: usize) -> String {
    word.iter().take(length).collect()
}

/// Each sign of a script without blanks with what comes behind it.
fn pairs(word: &[char]) -> impl Iterator<Item = String> {
    let pairs = word.array_windows().filter(|[first, _]: &&[char; 2]| !has_blanks(*first));
    pairs.map(|pair| pair.iter().collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str) -> BTreeSet<String> {
        let mut terms = BTreeSet::new();
        add_terms(text, &mut terms);
        terms
    }

    #[test]
    fn a_text_has_the_beginnings_of_its_words_and_the_signs_and_pairs_of_scripts_without_blanks() {
        let expected = |terms: &[&str]| terms.iter().map(|term| (*term).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(of("Café, ab"), expected(&["c", "ca", "caf", "cafe", "a", "ab"]));
        assert_eq!(of("組織x"), expected(&["組", "織", "組織", "織x"]));
        assert_eq!(Words::parse("CAFÉ 組織x 組").unwrap().terms(), expected(&["cafe", "組織", "織x", "組"]));
        assert_eq!(Words::parse("internationalization").unwrap().terms(), expected(&["internationa"]));
    }

    #[test]
    fn a_session_has_no_more_terms_than_the_index_takes() {
        let mut terms = BTreeSet::new();
        for number in 0..100_000 {
            add_terms(&format!("{number}x"), &mut terms);
        }
        assert_eq!(terms.len(), MOST_TERMS);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn whatever_holds_all_words_has_all_their_terms(
            text in "([a-cA-Cé組織ก่ข ,_1-2]{0,40})", words in "([a-cé組織ก่ข ]{1,6})",
        ) {
            if let Ok(words) = Words::parse(&words)
                && words.are_all(words.found_in(&text).held)
            {
                prop_assert!(words.terms().is_subset(&of(&text)), "{:?} in {text}", words.terms());
            }
        }

        #[test]
        fn what_is_cut_out_of_a_text_at_the_beginning_of_a_word_has_its_terms(
            text in "\\PC{0,60}", at in 0usize..60, length in 1usize..20,
        ) {
            let cut: String = text.chars().skip(at).take(length).collect();
            if let Ok(words) = Words::parse(&cut)
                && words.are_all(words.found_in(&text).held)
            {
                prop_assert!(words.terms().is_subset(&of(&text)), "{:?} in {text}", words.terms());
            }
        }
    }
}
