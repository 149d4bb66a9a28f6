//! A text as a vector: which words it has, and which parts of words, hashed into as many places as there are
//! dimensions.
//!
//! So texts that say the same in the same words are near each other, in whatever form the words stand ("settled",
//! "settle_turn", "SettleTurn"), and texts that say the same in other words are not: it is a stand-in for a model.

use std::collections::BTreeMap;

/// Words without meaning for a text's topic.
const SAYS_NOTHING: &[&str] = &[
    "a", "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been", "before",
    "but", "by", "can", "did", "do", "does", "each", "else", "ever", "every", "for", "from", "get", "gets",
    "go", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "just", "let", "like",
    "make", "makes", "many", "may", "me", "more", "most", "much", "my", "no", "not", "of", "on", "one",
    "only", "or", "other", "our", "out", "over", "own", "so", "some", "such", "than", "that", "the", "their",
    "them", "then", "there", "these", "they", "this", "those", "to", "up", "us", "was", "we", "were", "what",
    "when", "where", "which", "while", "who", "whose", "why", "will", "with", "would", "you", "your",
];

/// Words of nearly every source file.
const SAYS_LITTLE: &[&str] = &[
    "as", "async", "await", "bool", "box", "class", "clone", "const", "crate", "def", "derive", "enum",
    "err", "false", "file", "fn", "func", "function", "impl", "import", "mod", "mut", "new", "none", "null",
    "ok", "option", "package", "pub", "public", "ref", "result", "return", "self", "some", "static", "str",
    "string", "struct", "super", "test", "tests", "true", "type", "use", "usize", "value", "var", "vec",
    "void",
];

/// The share of a word that its parts have.
const PARTS: f32 = 0.4;
/// Weight of a title's words: those above the first blank line, if text follows.
const TITLE: f32 = 3.0;

/// The vector of a text: of length one, unless the text has no word.
pub(super) fn vector(text: &str, dimensions: usize) -> Vec<f32> {
    let mut vector = vec![0.0; dimensions];
    for (word, times) in words(text) {
        let weight = weight(&word) * (1.0 + times.ln());
        add(&mut vector, "word", &stem(&word), weight);
        let parts = parts(&word);
        // Their squares are to add up, as they do for places that differ.
        let each = weight * PARTS / f32::max(1.0, cast(parts.len())).sqrt();
        for part in parts {
            add(&mut vector, "part", &part, each);
        }
    }
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|number| *number /= length);
    }
    vector
}

/// Each word with how often it stands: the words of a name, and the name itself where it has several.
fn words(text: &str) -> BTreeMap<String, f32> {
    let mut words = BTreeMap::new();
    let (title, rest) = text.split_once("\n\n").unwrap_or(("", text));
    for (part, times) in [(title, TITLE), (rest, 1.0)] {
        let mut count = |word: String| *words.entry(word).or_insert(0.0) += times;
        for name in part.split(|c: char| !c.is_alphanumeric() && c != '_') {
            let parts: Vec<String> = name.split('_').flat_map(humps).collect();
            if parts.len() > 1 {
                count(parts.concat());
            }
            parts.into_iter().for_each(&mut count);
        }
    }
    words
}

/// `SettleTurn` as `settle` and `turn`; `HTTPServer` as `http` and `server`.
fn humps(name: &str) -> Vec<String> {
    let mut humps: Vec<String> = Vec::new();
    let letters: Vec<char> = name.chars().collect();
    for (place, letter) in letters.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|before| letters.get(before));
        let after = letters.get(place + 1);
        let begins = letter.is_uppercase()
            && before.is_none_or(|before| {
                !before.is_uppercase() || after.is_some_and(|after| after.is_lowercase())
            });
        match humps.last_mut() {
            Some(hump) if !begins => hump.extend(letter.to_lowercase()),
            _ => humps.push(letter.to_lowercase().collect()),
        }
    }
    humps
}

/// Longer words say more, as a rule, and those that all texts have say nothing.
fn weight(word: &str) -> f32 {
    if SAYS_NOTHING.contains(&word) {
        return 0.0;
    }
    let length = cast(word.chars().count().clamp(1, 12));
    let weight = 0.5 + 0.1 * length;
    if SAYS_LITTLE.contains(&word) { weight * 0.15 } else { weight }
}

/// `settled`, `settles` and `settling` as `settl`. Only for English, and only roughly.
fn stem(word: &str) -> String {
    let stem = ["ing", "ies", "ed", "es", "s", "y", "e"]
        .iter()
        .find_map(|ending| word.strip_suffix(ending).filter(|stem| stem.len() >= 3 && !stem.ends_with('s')));
    let stem = stem.unwrap_or(word);
    let stem = stem.strip_suffix('e').filter(|stem| stem.len() >= 3).unwrap_or(stem);
    let mut letters: Vec<char> = stem.chars().collect();
    // "stopped" as "stop", but "all" as it is.
    if let [.., before, last] = letters.as_slice()
        && before == last
        && letters.len() > 3
        && stem.len() < word.len()
    {
        letters.pop();
    }
    letters.into_iter().collect()
}

/// Three letters at a time, the word's ends included.
fn parts(word: &str) -> Vec<String> {
    let letters: Vec<char> = format!("^{word}$").chars().collect();
    letters.windows(3).map(|part| part.iter().collect()).collect()
}

fn add(vector: &mut [f32], kind: &str, feature: &str, weight: f32) {
    let hash = hash(kind, feature);
    let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
    let places = u64::try_from(vector.len()).unwrap_or(u64::MAX).max(1);
    let place = usize::try_from(hash % places).unwrap_or(0);
    if let Some(number) = vector.get_mut(place) {
        *number += sign * weight;
    }
}

/// FNV-1a, then mixed, so that its highest bit depends on every byte.
fn hash(kind: &str, feature: &str) -> u64 {
    let bytes = kind.bytes().chain([0]).chain(feature.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 29)
}

#[allow(clippy::cast_precision_loss, reason = "counts of letters and words")]
fn cast(count: usize) -> f32 {
    count as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn likeness(one: &str, other: &str) -> f32 {
        let (one, other) = (vector(one, 1536), vector(other, 1536));
        one.iter().zip(&other).map(|(one, other)| one * other).sum()
    }

    #[test]
    fn same_text_has_the_same_unit_vector() {
        let text = "fn settle_turn(turn: &Turn) -> Outcome";
        assert_eq!(vector(text, 256), vector(text, 256));
        assert!((likeness(text, text) - 1.0).abs() < 1e-5);
        assert_eq!(vector(text, 7).len(), 7);
        assert_eq!(vector("...", 3), [0.0; 3]);
    }

    #[test]
    fn texts_sharing_words_are_nearer() {
        let question = "Where is a turn settled?";
        let near = likeness(question, "pub fn settle_turn(turn: Turn) {}");
        let far = likeness(question, "pub fn parse_header(bytes: &[u8]) {}");
        assert!(near > far + 0.3, "{near} {far}");
    }

    #[test]
    fn inflected_words_are_the_same_feature() {
        for (one, other) in [("settled", "settling"), ("stopped", "stop"), ("queries", "query")] {
            assert_eq!(stem(one), stem(other));
        }
        assert_eq!(humps("SettleTurn"), ["settle", "turn"]);
        assert_eq!(humps("HTTPServer"), ["http", "server"]);
        assert!(likeness("finalize", "finalizer") > 0.1);
    }
}
