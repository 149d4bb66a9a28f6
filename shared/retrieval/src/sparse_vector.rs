//! The sparse vector of a text: its terms, hashed, each with a BM25 weight.
//!
//! It suits code and prose: names are split at case changes and underscores, and also kept whole. It is
//! deterministic, since index and question must agree. A change here invalidates every stored sparse vector, so it
//! requires another name than [`crate::collection::SPARSE`]. The database weighs the rarity of a term by its `idf`
//! modifier.

use std::collections::{BTreeMap, BTreeSet};

use turns::text_search::is_spaced;

use crate::stop_words::is_stop_word;

/// The maximum length of a term; a longer one is cut, since names differ mostly at the beginning.
const MAX_TERM_CHARS: usize = 64;

/// The maximum number of terms in a vector; the first ones of the text remain.
const MAX_TERMS: usize = 4_096;

/// The saturation of repeated terms (BM25's k1).
const SATURATION: f32 = 1.2;

/// The length normalization (BM25's b).
const LENGTH_WEIGHT: f32 = 0.75;

/// The number of terms in an average chunk.
const AVERAGE_TERMS: f32 = 200.0;

/// A sparse vector: term hashes, ascending, and their weights.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SparseVector {
    /// The hashes of terms.
    pub indices: Vec<u32>,
    /// Their weights, in the same order.
    pub values: Vec<f32>,
}

impl SparseVector {
    /// Returns the vector of a chunk: the BM25 weight of each term in its text.
    #[must_use]
    pub fn from_chunk(text: &str) -> Self {
        let (counts, total) = count_terms(text);
        let length = 1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * total / AVERAGE_TERMS;
        Self::with_weights(counts, |count| count * (SATURATION + 1.0) / (count + SATURATION * length))
    }

    /// Returns the vector of a question, in which each term has weight 1. Stop words are left out: they are frequent in
    /// prose and rare in code, so there their rarity would outweigh the topic. A question of nothing else keeps them.
    #[must_use]
    pub fn from_question(text: &str) -> Self {
        let (mut counts, _) = count_terms(text);
        let topic: BTreeSet<u32> =
            terms(text).iter().filter(|term| !is_stop_word(term)).map(|term| hash_term(term)).collect();
        if !topic.is_empty() {
            counts.retain(|term, _| topic.contains(term));
        }
        Self::with_weights(counts, |_| 1.0)
    }

    /// Returns true if there is no term to search by.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    fn with_weights(counts: BTreeMap<u32, f32>, weight: impl Fn(f32) -> f32) -> Self {
        let (indices, values) = counts.into_iter().map(|(term, count)| (term, weight(count))).unzip();
        Self { indices, values }
    }
}

/// Returns the distinct terms of a text.
pub(crate) fn terms(text: &str) -> BTreeSet<String> {
    let mut terms = BTreeSet::new();
    for_each_term(text, |term| _ = terms.insert(term.to_owned()));
    terms
}

/// Returns the count of each term, and the total.
fn count_terms(text: &str) -> (BTreeMap<u32, f32>, f32) {
    let (mut counts, mut total) = (BTreeMap::new(), 0.0);
    for_each_term(text, |term| {
        let hash = hash_term(term);
        if counts.len() < MAX_TERMS || counts.contains_key(&hash) {
            *counts.entry(hash).or_insert(0.0) += 1.0;
            total += 1.0;
        }
    });
    (counts, total)
}

/// Calls `emit` with the terms of a text, in order: words in lower case and singular, the parts of a name, and also
/// the whole of a name with more than one part. Single letters are skipped. Of a script without spaces, and of Hangul,
/// whose words carry particles, each pair of characters is a term, as in the search of sessions.
fn for_each_term(text: &str, mut emit: impl FnMut(&str)) {
    for name in text.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
        let chars: Vec<char> = name.chars().collect();
        for run in chars.chunk_by(|before, after| is_paired(*before) == is_paired(*after)) {
            match run {
                [only] if is_paired(*only) => emit(&only.to_string()),
                [first, ..] if is_paired(*first) => {
                    run.array_windows().for_each(|pair: &[char; 2]| emit(&pair.iter().collect::<String>()));
                }
                name => emit_name(name, &mut emit),
            }
        }
    }
}

fn emit_name(name: &[char], emit: &mut impl FnMut(&str)) {
    let parts = split_name(name);
    for part in &parts {
        if part.len() > 1 {
            emit(&singular(part));
        }
    }
    if parts.len() > 1 {
        emit(&truncate(&parts.concat()));
    }
}

/// Returns true for characters whose pairs are terms.
fn is_paired(c: char) -> bool {
    !is_spaced(c) || matches!(c, '\u{AC00}'..='\u{D7A3}')
}

/// Splits a name: `getHTTPStatus2_code` becomes `get`, `http`, `status2`, `code`.
fn split_name(chars: &[char]) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut part = String::new();
    let mut end = |part: &mut String| {
        if !part.is_empty() {
            parts.push(truncate(&part.to_lowercase()));
            part.clear();
        }
    };
    for (at, c) in chars.iter().copied().enumerate() {
        if c == '_' {
            end(&mut part);
        } else if c.is_uppercase() {
            let previous = at.checked_sub(1).and_then(|at| chars.get(at));
            let next = chars.get(at + 1);
            let begins_word = previous.is_some_and(|c| c.is_lowercase() || c.is_numeric());
            let ends_acronym =
                previous.is_some_and(|c| c.is_uppercase()) && next.is_some_and(|c| c.is_lowercase());
            if begins_word || ends_acronym {
                end(&mut part);
            }
        }
        if c != '_' {
            part.push(c);
        }
    }
    end(&mut part);
    parts
}

fn truncate(term: &str) -> String {
    term.chars().take(MAX_TERM_CHARS).collect()
}

/// Reduces plurals to the singular: `leases` to `lease`, `retries` to `retry`. It follows Harman's S-stemmer.
fn singular(term: &str) -> String {
    let ends_with = |end: &str| term.len() > end.len() + 1 && term.ends_with(end);
    if ends_with("ies") && !ends_with("eies") && !ends_with("aies") {
        format!("{}y", term.strip_suffix("ies").unwrap_or(term))
    } else if ends_with("s") && !ends_with("us") && !ends_with("ss") && term.len() > 3 {
        term.strip_suffix('s').unwrap_or(term).to_owned()
    } else {
        term.to_owned()
    }
}

/// Hashes a term with FNV-1a and murmur3's finalizer.
pub(crate) fn hash_term(term: &str) -> u32 {
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

    fn all_terms(text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        for_each_term(text, |term| terms.push(term.to_owned()));
        terms
    }

    #[test]
    fn names_are_split_and_also_kept_whole() {
        assert_eq!(all_terms("keep_lease"), ["keep", "lease", "keeplease"]);
        assert_eq!(all_terms("getHTTPStatus2"), ["get", "http", "status2", "gethttpstatus2"]);
        assert_eq!(all_terms("self.turns()?.len() + 1"), ["self", "turn", "len"]);
        assert_eq!(
            all_terms("OwnedTurn::keepLease"),
            ["owned", "turn", "ownedturn", "keep", "lease", "keeplease"]
        );
    }

    #[test]
    fn plurals_become_singular() {
        assert_eq!(
            all_terms("leases retries classes status class bus is as trees"),
            ["lease", "retry", "classe", "status", "class", "bus", "is", "as", "tree"]
        );
    }

    #[test]
    fn scripts_without_spaces_and_hangul_have_a_term_per_pair() {
        assert_eq!(all_terms("会話文 Größe 会"), ["会話", "話文", "größe", "会"]);
        assert_eq!(all_terms("세션은 API키를"), ["세션", "션은", "api", "키를"]);
    }

    #[test]
    fn vector_of_a_question_is_stable() {
        // A change here changes stored vectors: see the module's documentation.
        let vector = SparseVector::from_question("keep_lease");
        assert_eq!(vector.indices, [1_056_715_377, 1_323_514_868, 3_925_247_462]);
        assert_eq!(vector.values, [1.0, 1.0, 1.0]);
    }

    #[test]
    fn question_leaves_out_stop_words_unless_it_has_no_others() {
        let vector = SparseVector::from_question("How do I use the lease?");
        assert_eq!(vector.indices, [hash_term("lease")]);
        let vector = SparseVector::from_question("Why isn't the lease renewed while I'm waiting?");
        let topic = ["lease", "renewed", "waiting"].map(hash_term);
        assert!(vector.indices.len() == 3 && topic.iter().all(|term| vector.indices.contains(term)));
        let vector = SparseVector::from_question("who is it");
        assert_eq!(vector.indices.len(), 3);
        assert!(SparseVector::from_chunk("who is it").indices.len() == 3, "chunks keep them");
    }

    #[test]
    fn repeated_terms_weigh_more_but_saturate() {
        let of = |text: &str| {
            let vector = SparseVector::from_chunk(text);
            let at = vector.indices.iter().position(|term| *term == hash_term("lease")).unwrap();
            vector.values[at]
        };
        assert!(of("lease lease") > of("lease other"));
        assert!(of("lease lease lease other") < 3.0 * of("lease other other other"));
    }

    proptest! {
        #[test]
        fn any_text_yields_a_valid_vector(text in "\\PC{0,200}") {
            let (chunk, question) = (SparseVector::from_chunk(&text), SparseVector::from_question(&text));
            prop_assert!(question.indices.iter().all(|term| chunk.indices.contains(term)));
            prop_assert_eq!(question.is_empty(), chunk.is_empty());
            prop_assert!(chunk.indices.is_sorted_by(|a, b| a < b));
            prop_assert!(chunk.values.iter().all(|value| value.is_finite() && *value > 0.0));
            prop_assert_eq!(&chunk, &SparseVector::from_chunk(&text));
        }
    }
}
