//! How texts are cut into requests that a provider takes.

use std::ops::Range;

/// What one request may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Texts.
    pub texts: usize,
    /// Bytes of all texts together. A text that is larger goes alone.
    pub bytes: usize,
}

impl Default for Limits {
    /// Well within what the providers that publish a limit take: 2,048 texts and 300,000 tokens, of which one has
    /// at least a byte.
    fn default() -> Self {
        Self { texts: 128, bytes: 256 << 10 }
    }
}

/// The batches of `texts`, in order: together all of them, each as full as `limits` let it be.
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
    fn a_text_over_the_limit_goes_alone_and_no_text_is_no_batch() {
        let limits = Limits { texts: 3, bytes: 4 };
        assert_eq!(
            batches(&["ab", "cd", "e", "toolong", "f", "g", "h", "i"], limits),
            [0..2, 2..3, 3..4, 4..7, 7..8]
        );
        assert_eq!(batches::<&str>(&[], limits), Vec::<Range<usize>>::new());
    }

    proptest! {
        #[test]
        fn every_text_is_in_one_batch_and_no_batch_is_over_the_limits(
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
