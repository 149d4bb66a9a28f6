//! Rules for single strings in documents that an operator wrote.

use crate::fault::Found;

/// Something to read in one line: not blank, no line break or other control character.
pub(crate) fn line(text: &str, max_chars: usize, at: &str, found: &mut Found) {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    found.unless(!text.contains(breaks), at, "must be one line without control characters");
    passage(text, max_chars, at, found);
}

/// Something to read: not blank, not too long.
pub(crate) fn passage(text: &str, max_chars: usize, at: &str, found: &mut Found) {
    found.unless(!text.trim().is_empty(), at, "must not be blank");
    let fits = text.chars().nth(max_chars).is_none();
    found.unless(fits, at, format_args!("must have at most {max_chars} characters"));
}

/// A `snake_case` key.
pub(crate) fn snake_case(key: &str, max_chars: usize, at: &str, found: &mut Found) {
    let word =
        |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let fine = key.len() <= max_chars
        && key.starts_with(|c: char| c.is_ascii_lowercase())
        && key.split('_').all(word);
    found.unless(fine, at, format_args!("must be snake_case with at most {max_chars} characters"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(rule: impl Fn(&mut Found)) -> usize {
        let mut found = Found::default();
        rule(&mut found);
        found.count()
    }

    #[test]
    fn a_line_is_one_line() {
        assert_eq!(count(|found| line("When à plan is needed.", 22, "x", found)), 0);
        for bad in ["", " ", "a\u{2028}b", "a\rb", "\u{7}a", "a line that is far too long"] {
            assert!(count(|found| line(bad, 22, "x", found)) > 0, "{bad:?}");
        }
    }

    #[test]
    fn a_passage_may_have_lines() {
        assert_eq!(count(|found| passage("one\ntwo", 7, "x", found)), 0);
        assert_eq!(count(|found| passage("one\ntwo", 6, "x", found)), 1);
    }

    #[test]
    fn keys_are_snake_case() {
        for good in ["general", "ddr_authoring", "a1_2b"] {
            assert_eq!(count(|found| snake_case(good, 64, "x", found)), 0, "{good}");
        }
        for bad in ["", "General", "_a", "a_", "a__b", "1a", "a-b", "a b", "é", "too_long_for_it"] {
            assert_eq!(count(|found| snake_case(bad, 14, "x", found)), 1, "{bad}");
        }
    }
}
