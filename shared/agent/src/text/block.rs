//! Building blocks of the prompt's sections. Values from outside can't imitate a section's structure (I15).

/// Returns a text as a fenced block. Its fence is longer than any run of backticks inside, and has at least three.
pub(crate) fn fenced(text: &str, tag: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    let end = if text.is_empty() || text.ends_with(['\n', '\r']) { "" } else { "\n" };
    format!("{fence}{tag}\n{text}{end}{fence}\n")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// True if a language can be a fence's tag, which is one word.
pub(crate) fn is_word(language: &str) -> bool {
    language.chars().all(|c| c.is_alphanumeric() || matches!(c, '+' | '#' | '-' | '_' | '.'))
}

/// Replaces line breaks and control characters with spaces. Some readers break lines at U+2028 and U+2029, which are
/// not control characters.
pub(crate) fn one_line(text: &str) -> String {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    text.replace(breaks, " ")
}
