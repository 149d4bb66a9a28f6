//! Decides by rule how a request's text is searched for: not at all, alone, or with the turn before it.

/// The maximum number of words of a text without a question.
const MAX_SMALL_TALK_WORDS: usize = 6;

/// The maximum number of words of a follow-up.
const MAX_FOLLOW_UP_WORDS: usize = 12;

/// How a text is searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// It asks for nothing that a source could hold: "hello", "thanks, that works".
    Nothing,
    /// Alone.
    Alone,
    /// With the text of the turn before, to which it refers: "and how do I turn it off?".
    WithPrevious,
}

impl Need {
    /// Decides on a text. Texts in other languages than the lists below have are searched for alone.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let words: Vec<String> = text
            .split(|c: char| !(c.is_alphanumeric() || c == '\'' || c == '’'))
            .filter(|word| !word.is_empty())
            .take(MAX_FOLLOW_UP_WORDS + 1)
            .map(|word| word.to_lowercase().replace('’', "'"))
            .collect();
        let is_in = |list: &[&str], word: &str| list.contains(&word);
        let is_small_talk = words.iter().all(|word| is_in(SMALL_TALK, word) || is_in(FILLERS, word))
            && words.iter().any(|word| is_in(SMALL_TALK, word));
        if is_small_talk && words.len() <= MAX_SMALL_TALK_WORDS {
            return Self::Nothing;
        }
        let begins_as_follow_up = words.first().is_some_and(|first| is_in(CONJUNCTIONS, first));
        let refers = words.iter().any(|word| is_in(REFERENCES, word));
        let is_short = words.len() <= MAX_FOLLOW_UP_WORDS;
        if is_short && (begins_as_follow_up || refers) { Self::WithPrevious } else { Self::Alone }
    }
}

/// Words of greetings, thanks and assent.
const SMALL_TALK: &[&str] = &[
    "hello",
    "hi",
    "hey",
    "hallo",
    "hola",
    "salut",
    "bonjour",
    "ciao",
    "good",
    "morning",
    "afternoon",
    "evening",
    "night",
    "thanks",
    "thank",
    "thx",
    "merci",
    "danke",
    "gracias",
    "grazie",
    "cheers",
    "bye",
    "goodbye",
    "ok",
    "okay",
    "yes",
    "no",
    "yep",
    "nope",
    "sure",
    "great",
    "nice",
    "cool",
    "perfect",
    "fine",
    "please",
    "welcome",
    "ja",
    "nein",
    "oui",
    "non",
    "si",
    "sí",
    "你好",
    "您好",
    "谢谢",
    "こんにちは",
    "ありがとう",
    "안녕하세요",
    "감사합니다",
];

/// Words that small talk has beside them. They refer to nothing on their own.
const FILLERS: &[&str] = &[
    "a", "again", "all", "and", "are", "everyone", "for", "go", "ahead", "how", "is", "it", "lot", "much",
    "so", "that", "that's", "the", "there", "this", "very", "works", "you", "your", "help", "team", "now",
    "done", "today",
];

/// Words with which a follow-up begins.
const CONJUNCTIONS: &[&str] = &["and", "but", "or", "then", "also", "und", "aber", "et", "mais", "y", "pero"];

/// Words that refer to an earlier sentence.
const REFERENCES: &[&str] = &[
    "it",
    "its",
    "it's",
    "that",
    "that's",
    "this",
    "these",
    "those",
    "they",
    "them",
    "their",
    "he",
    "she",
    "him",
    "her",
    "former",
    "latter",
    "above",
    "same",
    "instead",
    "else",
    "otherwise",
    "example",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_talk_needs_no_search() {
        for text in [
            "hello",
            "Hi there!",
            "Thanks, that works.",
            "ok",
            "Good morning everyone",
            "yes please",
            "谢谢！",
        ] {
            assert_eq!(Need::of(text), Need::Nothing, "{text}");
        }
        for text in
            ["Hello, how do I renew the lease?", "no route to host", "good first issues", "", "?", "会話"]
        {
            assert_ne!(Need::of(text), Need::Nothing, "{text}");
        }
    }

    #[test]
    fn references_are_searched_for_with_the_turn_before() {
        for text in
            ["And how do I turn it off?", "Why?  Show me an example.", "what about those", "und auf Linux?"]
        {
            assert_eq!(Need::of(text), Need::WithPrevious, "{text}");
        }
        for text in [
            "Which code renews the lease of a running turn?",
            "How are the partition and sort keys of items built?",
            "Explain in full detail how the scheduler decides which of the waiting jobs it runs next and why it does that",
        ] {
            assert_eq!(Need::of(text), Need::Alone, "{text}");
        }
    }
}
