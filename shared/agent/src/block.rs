//! What every block that the model is told has in common: values that come from outside can't pass for its structure
//! (I15).

/// A text in a fenced block. Its fence has three backticks, or one more than any run of backticks inside.
pub(crate) fn fenced(text: &str, tag: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    let end = if text.is_empty() || text.ends_with(['\n', '\r']) { "" } else { "\n" };
    format!("{fence}{tag}\n{text}{end}{fence}\n")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Whether a language can be a fence's tag, which is one word.
pub(crate) fn is_word(language: &str) -> bool {
    language.chars().all(|c| c.is_alphanumeric() || matches!(c, '+' | '#' | '-' | '_' | '.'))
}

/// The line and paragraph separators are no control characters, but end a line for some readers.
pub(crate) fn one_line(text: &str) -> String {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    text.replace(breaks, " ")
}
