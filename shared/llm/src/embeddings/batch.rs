//! Splits texts into batches within the limits of a provider, and the vectors of a batch.

use std::ops::Range;

/// The limits of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most texts.
    pub texts: usize,
    /// The most bytes of all texts together. A larger text gets its own batch.
    pub bytes: usize,
}

impl Default for Limits {
    /// Well below the published limits of providers: 2,048 texts and 300,000 tokens, of at least one byte each.
    fn default() -> Self {
        Self { texts: 128, bytes: 256 << 10 }
    }
}

/// The vectors of a number of texts.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbeddingBatch {
    /// One vector per text, in the order of the texts.
    pub vectors: Vec<Vec<f32>>,
    /// The tokens used. 0 if the provider doesn't report them.
    pub tokens: u64,
}

/// Splits `texts` into consecutive batches, each as large as `limits` allows.
pub fn batches<T: AsRef<str>>(texts: &[T], limits: Limits) -> Vec<Range<usize>> {
    let mut batches = Vec::new();
    let (mut from, mut bytes) = (0, 0);
    for (at, text) in texts.iter().enumerate() {
        let size = text.as_ref().len();
        let is_full = at - from >= limits.texts.max(1) || bytes + size > limits.bytes;
        if at > from && is_full {
            batches.push(from..at);
            (from, bytes) = (at, 0);
        }
        bytes += size;
    }
    if from < texts.len() {
        batches.push(from..texts.len());
    }
    batches
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn oversized_text_gets_its_own_batch() {
        let limits = Limits { texts: 3, bytes: 4 };
        assert_eq!(
            batches(&["ab", "cd", "e", "toolong", "f", "g", "h", "i"], limits),
            [0..2, 2..3, 3..4, 4..7, 7..8]
        );
        assert_eq!(batches::<&str>(&[], limits), Vec::<Range<usize>>::new());
    }

    proptest! {
        #[test]
        fn batches_cover_all_texts_within_the_limits(
            texts in proptest::collection::vec("[a-z]{0,9}", 0..40), most in 1_usize..6, bytes in 1_usize..20,
        ) {
            let cut = batches(&texts, Limits { texts: most, bytes });
            prop_assert_eq!(cut.iter().cloned().flatten().collect::<Vec<_>>(), (0..texts.len()).collect::<Vec<_>>());
            for batch in cut {
                let size: usize = texts[batch.clone()].iter().map(String::len).sum();
                prop_assert!(!batch.is_empty() && batch.len() <= most && (size <= bytes || batch.len() == 1));
            }
        }
    }
}
