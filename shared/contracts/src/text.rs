//! Text on one line, such as a name.

/// True for control characters, and for those that change the direction of the text around them. Neither is part of a
/// text on one line: a list or a log that shows it would be shown otherwise than it is.
#[must_use]
pub fn is_invisible(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns the text on one line, without characters that [`is_invisible`] excludes.
///
/// # Examples
/// ```
/// assert_eq!(contracts::text::one_line("a\tb\u{7} \u{202e}c\r\nd "), "a b c d");
/// ```
#[must_use]
pub fn one_line(text: &str) -> String {
    let visible: String = text.chars().filter(|c| c.is_whitespace() || !is_invisible(*c)).collect();
    single_spaced(&visible)
}

/// Returns a text with each run of white space as one blank.
#[must_use]
pub fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_keeps_everything_that_is_seen() {
        for text in ["👨‍👩‍👧‍👦 e\u{301}", "\u{301}\u{301}", "‏עברית", "a\u{a0}b".replace('\u{a0}', " ").as_str()]
        {
            assert_eq!(one_line(text), text);
        }
        assert_eq!(one_line("\u{2066}a\u{2069}\u{2028}b\u{85}c"), "a b c");
        assert_eq!(one_line("\u{202e}\u{0}"), "");
    }
}
