//! The floor of a search: a passage that is neither similar to the question nor has its terms is not relevant.

use std::collections::BTreeSet;

use agent::retrieval::Chunk;

use crate::sparse_vector::terms;
use crate::stop_words::is_stop_word;

/// The minimum cosine similarity of a passage with few of the question's terms. Models whose similarities are all high
/// pass it with any text, so that it never hides an answer there.
const MIN_SIMILARITY: f32 = 0.2;

/// The minimum share of the question's terms in a passage that is less similar.
const MIN_SHARE: f32 = 0.5;

/// The rule by which passages of one search are relevant.
#[derive(Debug)]
pub(crate) struct Relevance {
    terms: BTreeSet<String>,
    is_cosine: bool,
}

impl Relevance {
    /// Creates the rule for a question.
    pub(crate) fn of(question: &str, is_cosine: bool) -> Self {
        let mut terms = terms(question);
        terms.retain(|term| !is_stop_word(term));
        Self { terms, is_cosine }
    }

    /// Returns true for a relevant passage. Similarities of another kind than the cosine have no known range.
    pub(crate) fn includes(&self, passage: &Chunk) -> bool {
        !self.is_cosine || passage.score >= MIN_SIMILARITY || self.share(passage) >= MIN_SHARE
    }

    /// Returns the share of the question's terms that a passage has.
    fn share(&self, passage: &Chunk) -> f32 {
        let section = passage.section.as_deref().unwrap_or_default();
        let found = terms(&format!("{}\n{section}\n{}", passage.path, passage.text));
        #[expect(clippy::cast_precision_loss, reason = "counts of terms")]
        let share = self.terms.intersection(&found).count() as f32 / self.terms.len().max(1) as f32;
        share
    }
}

#[cfg(test)]
mod tests {
    use contracts::ContentHash;

    use super::*;

    #[test]
    fn passage_needs_similarity_or_terms() {
        let passage = |score: f32, text: &str| Chunk {
            id: "a".to_owned(),
            repo: None,
            path: "src/a.rs".to_owned(),
            language: None,
            start_line: 1,
            end_line: 1,
            content_hash: ContentHash::hash_text(text),
            score,
            section: None,
            page: None,
            parts: None,
            text: text.to_owned(),
        };
        let lease = Relevance::of("How do I renew the lease?", true);
        assert!(lease.includes(&passage(0.3, "anything")));
        assert!(lease.includes(&passage(0.0, "fn renew_turn() {}")), "one of two terms");
        assert!(!lease.includes(&passage(0.1, "How do I do the other thing?")));
        let words_alone = Relevance::of("what is it?", true);
        assert!(!words_alone.includes(&passage(0.1, "what is it")));
        assert!(Relevance::of("hello", false).includes(&passage(-3.0, "x")), "of another distance");
    }
}
