//! Escapes of characters that a terminal would obey or hide, so that text of a model can't forge what a user reads.

use std::fmt::Write;

/// Invisible characters: format, bidirectional and zero-width ones, and separators of lines and paragraphs. The
/// variation selectors of emoji (U+FE0E, U+FE0F) are not among them.
const INVISIBLE: [(char, char); 18] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0d}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Longest line of `escape_line`, in characters.
const MAX_LINE_CHARS: usize = 400;

/// Returns true for control and invisible characters. Line breaks and tabs are neither.
fn is_deceptive(letter: char) -> bool {
    !matches!(letter, '\n' | '\t')
        && (letter.is_control() || INVISIBLE.iter().any(|(first, last)| (*first..=*last).contains(&letter)))
}

/// Escapes control and invisible characters as `\u{202e}`. Line breaks and tabs stay.
pub(crate) fn escape_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_deceptive(letter) {
            escaped.extend(letter.escape_unicode());
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

/// Escapes a text to one line of bounded length.
pub(crate) fn escape_line(text: &str) -> String {
    let escaped = escape_text(text).replace('\n', "\\n").replace('\t', "\\t");
    if escaped.chars().count() <= MAX_LINE_CHARS {
        return escaped;
    }
    let start: String = escaped.chars().take(MAX_LINE_CHARS).collect();
    format!("{start}…")
}

/// Escapes a path or a name. It is quoted unless it consists of letters, digits and common punctuation.
pub(crate) fn escape_path(path: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "._-/+@~,=#".contains(letter);
    if !path.is_empty() && path.chars().all(is_plain) {
        return path.to_owned();
    }
    let mut quoted = String::from('"');
    for letter in path.chars() {
        match letter {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(letter);
            }
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            letter if is_deceptive(letter) => quoted.extend(letter.escape_unicode()),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// Returns a warning if a text has control or invisible characters. Ignores CRLF line endings.
pub(crate) fn deception_warning(subject: &str, text: &str) -> Option<String> {
    let lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    let count = lines.flat_map(str::chars).filter(|letter| is_deceptive(*letter)).count();
    if count == 0 {
        return None;
    }
    let mut warning = format!("{subject} contains {count} control or invisible character");
    let _ = write!(warning, "{}, shown as \\u{{…}}.", if count == 1 { "" } else { "s" });
    Some(warning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_invisible_characters_are_escaped() {
        for (text, escaped) in [
            ("a\x1b]0;title\x07\tb\r\n", "a\\u{1b}]0;title\\u{7}\tb\\u{d}\n"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("if \u{202e}admin\u{2066}", "if \\u{202e}admin\\u{2066}"),
            ("a\u{200b}b\u{200d}c\u{feff}", "a\\u{200b}b\\u{200d}c\\u{feff}"),
            ("\u{e0041}\u{2028}\u{3164}", "\\u{e0041}\\u{2028}\\u{3164}"),
            ("größe 日本語 ❤\u{fe0f} e\u{301}", "größe 日本語 ❤\u{fe0f} e\u{301}"),
        ] {
            assert_eq!(escape_text(text), escaped);
        }
    }

    #[test]
    fn path_is_escaped_and_quoted() {
        for (path, escaped) in [
            ("src/größe-1.rs", "src/größe-1.rs"),
            ("my file.md", "\"my file.md\""),
            ("a\nChange b.txt? [y]es", "\"a\\nChange b.txt? [y]es\""),
            ("a\"\\b", "\"a\\\"\\\\b\""),
            ("txt.\u{202e}sr", "\"txt.\\u{202e}sr\""),
            ("", "\"\""),
        ] {
            assert_eq!(escape_path(path), escaped);
        }
    }

    #[test]
    fn line_is_bounded_and_without_breaks() {
        assert_eq!(escape_line("a\n\r> b"), "a\\n\\u{d}> b");
        assert_eq!(escape_line(&"x".repeat(1_000)).chars().count(), MAX_LINE_CHARS + 1);
    }

    #[test]
    fn warning_counts_deceptive_characters() {
        assert_eq!(deception_warning("The patch", "+a\r\n\tb\n"), None);
        let warning = deception_warning("The patch", "a\rb\u{202e}\n").unwrap();
        assert_eq!(warning, "The patch contains 2 control or invisible characters, shown as \\u{…}.");
    }
}
