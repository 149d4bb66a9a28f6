//! Words of a question that say nothing about its topic. They stay in the vectors of chunks, where a name may consist of them.

/// Returns true for such a term, in the singular.
pub(crate) fn is_stop_word(term: &str) -> bool {
    STOP_WORDS.contains(&term)
}

/// Terms, in the singular, that say nothing about a topic.
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been",
    "before", "but", "by", "can", "could", "did", "do", "does", "doe", "for", "from", "get", "had", "has",
    "have", "how", "i", "if", "in", "into", "is", "it", "its", "just", "like", "make", "may", "me", "my",
    "no", "not", "of", "on", "one", "or", "other", "our", "out", "please", "so", "some", "than", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "thi", "to", "up", "us", "use", "was",
    "wa", "we", "were", "what", "when", "where", "which", "who", "why", "will", "with", "would", "you",
    "your",
];
