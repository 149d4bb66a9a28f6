//! Checks of single strings in documents that an operator wrote.

use crate::fault::FaultCollector;

/// Checks a single line: not blank, and without line breaks or other control characters.
pub(crate) fn check_line(text: &str, max_chars: usize, at: &str, faults: &mut FaultCollector) {
    let is_control = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    faults.require(!text.contains(is_control), at, "must be one line without control characters");
    check_text(text, max_chars, at, faults);
}

/// Checks a text: not blank, and at most `max_chars` long.
pub(crate) fn check_text(text: &str, max_chars: usize, at: &str, faults: &mut FaultCollector) {
    faults.require(!text.trim().is_empty(), at, "must not be blank");
    let fits = text.chars().nth(max_chars).is_none();
    faults.require(fits, at, format_args!("must have at most {max_chars} characters"));
}

/// The maximum length of `Deprecated`.
pub(crate) const MAX_DEPRECATED_CHARS: usize = 400;

/// Checks the `Deprecated` of a document: one line that names the replacement.
pub(crate) fn check_deprecated(text: Option<&str>, at: &str, faults: &mut FaultCollector) {
    if let Some(text) = text {
        check_line(text, MAX_DEPRECATED_CHARS, &format!("{at}.Deprecated"), faults);
    }
}

/// Checks a `snake_case` key.
pub(crate) fn check_snake_case(key: &str, max_chars: usize, at: &str, faults: &mut FaultCollector) {
    let word =
        |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let is_valid = key.len() <= max_chars
        && key.starts_with(|c: char| c.is_ascii_lowercase())
        && key.split('_').all(word);
    faults.require(is_valid, at, format_args!("must be snake_case with at most {max_chars} characters"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(rule: impl Fn(&mut FaultCollector)) -> usize {
        let mut faults = FaultCollector::default();
        rule(&mut faults);
        faults.count()
    }

    #[test]
    fn line_rejects_breaks_blanks_and_excess_length() {
        assert_eq!(count(|faults| check_line("When à plan is needed.", 22, "x", faults)), 0);
        for bad in ["", " ", "a\u{2028}b", "a\rb", "\u{7}a", "a line that is far too long"] {
            assert!(count(|faults| check_line(bad, 22, "x", faults)) > 0, "{bad:?}");
        }
    }

    #[test]
    fn text_may_have_several_lines() {
        assert_eq!(count(|faults| check_text("one\ntwo", 7, "x", faults)), 0);
        assert_eq!(count(|faults| check_text("one\ntwo", 6, "x", faults)), 1);
    }

    #[test]
    fn keys_are_snake_case() {
        for good in ["general", "ddr_authoring", "a1_2b"] {
            assert_eq!(count(|faults| check_snake_case(good, 64, "x", faults)), 0, "{good}");
        }
        for bad in ["", "General", "_a", "a_", "a__b", "1a", "a-b", "a b", "é", "too_long_for_it"] {
            assert_eq!(count(|faults| check_snake_case(bad, 14, "x", faults)), 1, "{bad}");
        }
    }
}
