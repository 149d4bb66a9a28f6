//! Excerpts of long text.

use protocol::detail::Excerpt;

use crate::text::head;

/// Maximum length of an excerpt, in Unicode scalar values.
pub const MAX_EXCERPT_CHARS: usize = 1_024;

/// Maximum length of a session's name, in Unicode scalar values.
const MAX_NAME_CHARS: usize = 80;

/// Returns the head of a text: at most [`MAX_EXCERPT_CHARS`] scalar values, truncated at a grapheme boundary.
#[must_use]
pub fn excerpt_of(text: &str) -> Excerpt {
    let head = head(text, MAX_EXCERPT_CHARS);
    Excerpt { text: head.to_owned(), is_truncated: head.len() < text.len() }
}

/// Returns a session's default name: the first non-blank line of its first instruction.
#[must_use]
pub fn session_name(instruction: Option<&str>) -> String {
    let line = instruction.unwrap_or_default().lines().map(str::trim).find(|line| !line.is_empty());
    head(line.unwrap_or("Untitled session"), MAX_NAME_CHARS).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_at_limit_is_complete_and_longer_is_truncated() {
        let text = "é".repeat(1_024);
        assert_eq!(excerpt_of(&text), Excerpt { text: text.clone(), is_truncated: false });
        assert_eq!(excerpt_of(&"é".repeat(1_025)), Excerpt { text, is_truncated: true });
    }

    #[test]
    fn excerpt_never_splits_grapheme() {
        // A family emoji has seven scalar values. Only complete ones stay.
        let family = "👨‍👩‍👧‍👦";
        let Excerpt { text: summary, is_truncated: is_cut } = excerpt_of(&family.repeat(400));
        assert!(is_cut);
        assert_eq!(summary.chars().count() % family.chars().count(), 0);
        assert!(summary.chars().count() <= MAX_EXCERPT_CHARS);
    }

    #[test]
    fn session_name_is_first_non_blank_line() {
        assert_eq!(session_name(Some("\n  Fix the build \nplease")), "Fix the build");
        assert_eq!(session_name(None), "Untitled session");
    }
}
