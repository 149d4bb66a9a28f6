//! The sparse vector of a text: its terms, hashed, each with a weight that says how much of the text is about it.
//!
//! For code as much as for prose: names are split where their case changes and at underscores, and kept whole too.
//! Deterministic, since the index and the question have to agree: a change here makes every stored sparse vector
//! another one's, so it needs another name than [`crate::collection::TERMS`]. How rare a term is weighs in at the
//! database, by its `idf` modifier.

use std::collections::BTreeMap;

/// A longer term is cut: what tells two names apart stands at their beginning.
const MOST_TERM_CHARS: usize = 64;

/// No vector has more terms; those that come first in the text stay.
const MOST_TERMS: usize = 4_096;

/// How soon a repeated term counts no more (BM25's k1).
const SATURATION: f32 = 1.2;

/// How much a text's length counts against its terms (BM25's b).
const LENGTH_WEIGHT: f32 = 0.75;

/// The terms of an ordinary chunk.
const ORDINARY_TERMS: f32 = 200.0;

/// A sparse vector: term hashes, ascending, and their weights.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Terms {
    /// Hashes of terms.
    pub indices: Vec<u32>,
    /// Their weights, in the same order.
    pub values: Vec<f32>,
}

impl Terms {
    /// The vector of a chunk: BM25's share of each term in its text.
    #[must_use]
    pub fn of_chunk(text: &str) -> Self {
        let (counts, total) = counted(text);
        let length = 1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * total / ORDINARY_TERMS;
        Self::weighed(counts, |count| count * (SATURATION + 1.0) / (count + SATURATION * length))
    }

    /// The vector of a question: each term once.
    #[must_use]
    pub fn of_question(text: &str) -> Self {
        Self::weighed(counted(text).0, |_| 1.0)
    }

    /// Whether there is nothing to search by.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    fn weighed(counts: BTreeMap<u32, f32>, weight: impl Fn(f32) -> f32) -> Self {
        let (indices, values) = counts.into_iter().map(|(term, count)| (term, weight(count))).unzip();
        Self { indices, values }
    }
}

/// How often each term is there, and how many there are.
fn counted(text: &str) -> (BTreeMap<u32, f32>, f32) {
    let (mut counts, mut total) = (BTreeMap::new(), 0.0);
    for_each_term(text, |term| {
        let hash = hash(term);
        if counts.len() < MOST_TERMS || counts.contains_key(&hash) {
            *counts.entry(hash).or_insert(0.0) += 1.0;
            total += 1.0;
        }
    });
    (counts, total)
}

/// The terms of a text, in its order: words in lower case and the singular; the parts of a name, and a name of more
/// than one part whole. Single letters are none, and a sign of a script without spaces is one of its own.
fn for_each_term(text: &str, mut found: impl FnMut(&str)) {
    for name in text.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
        let parts = parts(name);
        for part in &parts {
            if part.len() > 1 {
                found(&singular(part));
            }
        }
        if parts.len() > 1 && !parts.iter().any(|part| part.chars().any(stands_alone)) {
            found(&cut(&parts.concat()));
        }
    }
}

/// `getHTTPStatus2_code` is `get`, `http`, `status2`, `code`.
fn parts(name: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut part = String::new();
    let chars: Vec<char> = name.chars().collect();
    let mut end = |part: &mut String| {
        if !part.is_empty() {
            parts.push(cut(&part.to_lowercase()));
            part.clear();
        }
    };
    for (at, c) in chars.iter().copied().enumerate() {
        if c == '_' || stands_alone(c) {
            end(&mut part);
        } else if c.is_uppercase() {
            let before = at.checked_sub(1).and_then(|at| chars.get(at));
            let after = chars.get(at + 1);
            let begins_word = before.is_some_and(|c| c.is_lowercase() || c.is_numeric());
            let ends_acronym =
                before.is_some_and(|c| c.is_uppercase()) && after.is_some_and(|c| c.is_lowercase());
            if begins_word || ends_acronym {
                end(&mut part);
            }
        }
        if c != '_' {
            part.push(c);
        }
        if stands_alone(c) {
            end(&mut part);
        }
    }
    end(&mut part);
    parts
}

/// Scripts that are written without spaces.
fn stands_alone(c: char) -> bool {
    matches!(c, '\u{0E00}'..='\u{0EFF}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{2FA1F}')
}

fn cut(term: &str) -> String {
    term.chars().take(MOST_TERM_CHARS).collect()
}

/// A plural is the same term: `leases` is `lease`, `retries` is `retry`. After Harman's rules, so never clever.
fn singular(term: &str) -> String {
    let is = |end: &str| term.len() > end.len() + 1 && term.ends_with(end);
    if is("ies") && !is("eies") && !is("aies") {
        format!("{}y", term.strip_suffix("ies").unwrap_or(term))
    } else if is("s") && !is("us") && !is("ss") && term.len() > 3 {
        term.strip_suffix('s').unwrap_or(term).to_owned()
    } else {
        term.to_owned()
    }
}

/// FNV-1a, its bits mixed as murmur3 mixes its last ones.
pub(crate) fn hash(term: &str) -> u32 {
    let fnv =
        term.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let mixed = (fnv ^ (fnv >> 16)).wrapping_mul(0x85eb_ca6b);
    let mixed = (mixed ^ (mixed >> 13)).wrapping_mul(0xc2b2_ae35);
    mixed ^ (mixed >> 16)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn terms(text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        for_each_term(text, |term| terms.push(term.to_owned()));
        terms
    }

    #[test]
    fn names_are_split_where_their_case_changes_and_kept_whole() {
        assert_eq!(terms("keep_lease"), ["keep", "lease", "keeplease"]);
        assert_eq!(terms("getHTTPStatus2"), ["get", "http", "status2", "gethttpstatus2"]);
        assert_eq!(terms("self.turns()?.len() + 1"), ["self", "turn", "len"]);
        assert_eq!(
            terms("OwnedTurn::keepLease"),
            ["owned", "turn", "ownedturn", "keep", "lease", "keeplease"]
        );
    }

    #[test]
    fn a_plural_is_its_singular() {
        assert_eq!(
            terms("leases retries classes status class bus is as trees"),
            ["lease", "retry", "classe", "status", "class", "bus", "is", "as", "tree"]
        );
    }

    #[test]
    fn scripts_without_spaces_have_a_term_per_sign() {
        assert_eq!(terms("会話 Größe"), ["会", "話", "größe"]);
    }

    #[test]
    fn a_stored_vector_stays_readable() {
        // Whoever changes this changes what is stored: see the module's words.
        let vector = Terms::of_question("keep_lease");
        assert_eq!(vector.indices, [1_056_715_377, 1_323_514_868, 3_925_247_462]);
        assert_eq!(vector.values, [1.0, 1.0, 1.0]);
    }

    #[test]
    fn what_a_chunk_says_often_weighs_more_and_never_twice_as_much_as_thrice() {
        let of = |text: &str| {
            let vector = Terms::of_chunk(text);
            let at = vector.indices.iter().position(|term| *term == hash("lease")).unwrap();
            vector.values[at]
        };
        assert!(of("lease lease") > of("lease other"));
        assert!(of("lease lease lease other") < 3.0 * of("lease other other other"));
    }

    proptest! {
        #[test]
        fn any_text_makes_a_vector_that_a_database_takes(text in "\\PC{0,200}") {
            let (chunk, question) = (Terms::of_chunk(&text), Terms::of_question(&text));
            prop_assert_eq!(&chunk.indices, &question.indices);
            prop_assert!(chunk.indices.is_sorted_by(|a, b| a < b));
            prop_assert!(chunk.values.iter().all(|value| value.is_finite() && *value > 0.0));
            prop_assert_eq!(&chunk, &Terms::of_chunk(&text));
        }
    }
}
