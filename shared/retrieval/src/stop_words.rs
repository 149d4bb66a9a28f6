//! Words of a question that say nothing about its topic. They stay in the vectors of chunks, where a name may consist of them.

/// Returns true for such a term, in the singular.
pub(crate) fn is_stop_word(term: &str) -> bool {
    STOP_WORDS.contains(&term)
}

/// Terms, in the singular, that say nothing about a topic, such as "doe" for "does" and "isn" for "isn't".
const STOP_WORDS: &[&str] = &[
    "a", "about", "above", "after", "again", "against", "ain", "all", "also", "am", "an", "and", "any",
    "are", "aren", "as", "at", "be", "because", "been", "before", "being", "below", "between", "both", "but",
    "by", "can", "could", "couldn", "did", "didn", "do", "doe", "does", "doesn", "doing", "don", "down",
    "during", "each", "few", "for", "from", "further", "get", "had", "hadn", "has", "hasn", "have", "haven",
    "having", "he", "her", "here", "hi", "him", "himself", "his", "how", "i", "if", "in", "into", "is",
    "isn", "it", "its", "itself", "just", "like", "ll", "make", "may", "me", "more", "most", "mustn", "my",
    "myself", "needn", "no", "nor", "not", "of", "off", "on", "once", "one", "only", "or", "other", "our",
    "out", "over", "own", "please", "re", "same", "she", "should", "shouldn", "so", "some", "such", "than",
    "that", "the", "their", "them", "then", "there", "these", "they", "thi", "this", "through", "to", "too",
    "under", "until", "up", "us", "use", "ve", "very", "wa", "was", "wasn", "we", "were", "weren", "what",
    "when", "where", "which", "while", "who", "whom", "why", "will", "with", "without", "won", "would",
    "wouldn", "you", "your",
];
