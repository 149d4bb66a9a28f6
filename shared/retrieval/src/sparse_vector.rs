//! The sparse vector of a text: its terms, hashed, each with a BM25 weight.
//!
//! It suits code and prose: names are split at case changes and underscores, and also kept whole. It is
//! deterministic, since index and question must agree. A change here invalidates every stored sparse vector, so it
//! requires another name than [`crate::collection::SPARSE`]. The database weighs the rarity of a term by its `idf`
//! modifier.

use std::collections::BTreeMap;

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

    /// Returns the vector of a question, in which each term has weight 1.
    #[must_use]
    pub fn from_question(text: &str) -> Self {
        Self::with_weights(count_terms(text).0, |_| 1.0)
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

/// Calls `found` with the terms of a text, in order: words in lower case and singular, the parts of a name, and also
/// the whole of a name with more than one part. Single letters are skipped. In a script without spaces each
/// character is a term.
fn for_each_term(text: &str, mut emit: impl FnMut(&str)) {
    for name in text.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
        let parts = split_name(name);
        for part in &parts {
            if part.len() > 1 {
                emit(&singular(part));
            }
        }
        if parts.len() > 1 && !parts.iter().any(|part| part.chars().any(is_unspaced_script)) {
            emit(&truncate(&parts.concat()));
        }
    }
}

/// Splits a name: `getHTTPStatus2_code` becomes `get`, `http`, `status2`, `code`.
fn split_name(name: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut part = String::new();
    let chars: Vec<char> = name.chars().collect();
    let mut end = |part: &mut String| {
        if !part.is_empty() {
            parts.push(truncate(&part.to_lowercase()));
            part.clear();
        }
    };
    for (at, c) in chars.iter().copied().enumerate() {
        if c == '_' || is_unspaced_script(c) {
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
        if is_unspaced_script(c) {
            end(&mut part);
        }
    }
    end(&mut part);
    parts
}

/// Returns true for characters of scripts that are written without spaces.
fn is_unspaced_script(c: char) -> bool {
    matches!(c, '\u{0E00}'..='\u{0EFF}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{2FA1F}')
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

    fn terms(text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        for_each_term(text, |term| terms.push(term.to_owned()));
        terms
    }

    #[test]
    fn names_are_split_and_also_kept_whole() {
        assert_eq!(terms("keep_lease"), ["keep", "lease", "keeplease"]);
        assert_eq!(terms("getHTTPStatus2"), ["get", "http", "status2", "gethttpstatus2"]);
        assert_eq!(terms("self.turns()?.len() + 1"), ["self", "turn", "len"]);
        assert_eq!(
            terms("OwnedTurn::keepLease"),
            ["owned", "turn", "ownedturn", "keep", "lease", "keeplease"]
        );
    }

    #[test]
    fn plurals_become_singular() {
        assert_eq!(
            terms("leases retries classes status class bus is as trees"),
            ["lease", "retry", "classe", "status", "class", "bus", "is", "as", "tree"]
        );
    }

    #[test]
    fn unspaced_scripts_have_a_term_per_character() {
        assert_eq!(terms("会話 Größe"), ["会", "話", "größe"]);
    }

    #[test]
    fn vector_of_a_question_is_stable() {
        // A change here changes stored vectors: see the module's documentation.
        let vector = SparseVector::from_question("keep_lease");
        assert_eq!(vector.indices, [1_056_715_377, 1_323_514_868, 3_925_247_462]);
        assert_eq!(vector.values, [1.0, 1.0, 1.0]);
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
            prop_assert_eq!(&chunk.indices, &question.indices);
            prop_assert!(chunk.indices.is_sorted_by(|a, b| a < b));
            prop_assert!(chunk.values.iter().all(|value| value.is_finite() && *value > 0.0));
            prop_assert_eq!(&chunk, &SparseVector::from_chunk(&text));
        }
    }
}
