//! Summaries of long text (DD-005).

use protocol::detail::Summary;

use crate::text::head;

/// The most Unicode scalar values a summary has.
pub const SUMMARY_CHARS: usize = 1_024;

/// The most a session's name has.
const NAME_CHARS: usize = 80;

/// The head of a text: at most [`SUMMARY_CHARS`] scalar values, cut at a grapheme boundary.
#[must_use]
pub fn summarize(text: &str) -> Summary {
    let head = head(text, SUMMARY_CHARS);
    Summary { text: head.to_owned(), is_cut: head.len() < text.len() }
}

/// What lists call a session: the first line with words of its first instruction.
#[must_use]
pub fn name_of(instruction: Option<&str>) -> String {
    let line = instruction.unwrap_or_default().lines().map(str::trim).find(|line| !line.is_empty());
    head(line.unwrap_or("Untitled session"), NAME_CHARS).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_at_the_limit_is_whole_and_one_over_is_cut() {
        let text = "é".repeat(1_024);
        assert_eq!(summarize(&text), Summary { text: text.clone(), is_cut: false });
        assert_eq!(summarize(&"é".repeat(1_025)), Summary { text, is_cut: true });
    }

    #[test]
    fn a_grapheme_is_never_cut_in_two() {
        // A family emoji is seven scalar values; only whole ones stay.
        let family = "👨‍👩‍👧‍👦";
        let Summary { text: summary, is_cut } = summarize(&family.repeat(400));
        assert!(is_cut);
        assert_eq!(summary.chars().count() % family.chars().count(), 0);
        assert!(summary.chars().count() <= SUMMARY_CHARS);
    }

    #[test]
    fn a_session_is_named_by_its_first_line_with_words() {
        assert_eq!(name_of(Some("\n  Fix the build \nplease")), "Fix the build");
        assert_eq!(name_of(None), "Untitled session");
    }
}
