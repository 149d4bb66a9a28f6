//! Text is bounded: how long it is, and how it is shortened.

use unicode_segmentation::GraphemeCursor;

/// The longest path that a ref keeps, in bytes of UTF-8; of a longer one its end, which names the file. With
/// it the refs of 64 files stay under 80 KB, so that the item they are in stays under 100 KB.
pub const MOST_REF_PATH_BYTES: usize = 1_024;

/// Stands for what a path lost.
const CUT: &str = "…";

/// About how many tokens a text has: one per three bytes of UTF-8, rounded up.
///
/// Source code and English have fewer, about one per four bytes; what is not Latin has about one per
/// character, which takes two or three bytes. So it errs on the safe side without a model's own tokenizer.
///
/// # Examples
/// ```
/// assert_eq!(agent::text::tokens("let x = 1;"), 4);
/// ```
#[must_use]
pub fn tokens(text: &str) -> u32 {
    u32::try_from(text.len().div_ceil(BYTES_PER_TOKEN)).unwrap_or(u32::MAX)
}

/// About how many bytes of UTF-8 a token has at least.
pub const BYTES_PER_TOKEN: usize = 3;

/// The head of a text: at most so many Unicode scalar values, cut at a grapheme boundary.
#[must_use]
pub fn head(text: &str, most: usize) -> &str {
    // A text has no more scalar values than bytes, so most texts need no walk at all.
    if text.len() <= most {
        return text;
    }
    let Some((end, _)) = text.char_indices().nth(most) else {
        return text;
    };
    // The boundary is sought backwards from where the text has to end, and not through all of it.
    let mut cursor = GraphemeCursor::new(end, text.len(), true);
    let end = match cursor.is_boundary(text, 0) {
        Ok(false) => cursor.prev_boundary(text, 0).ok().flatten().unwrap_or_default(),
        _ => end,
    };
    text.get(..end).unwrap_or_default()
}

/// The head of a text that has more than `most` bytes, with a mark that says how much is missing.
#[must_use]
pub fn cut(text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    let head = text.split_at(text.floor_char_boundary(most)).0;
    format!("{head}\n[cut here: {} of {} bytes left out]", text.len() - head.len(), text.len())
}

/// Whether a text may have been cut: what is not may say so too.
#[must_use]
pub fn is_cut(text: &str) -> bool {
    text.contains("[cut here: ")
}

/// Every line is indented, so that nothing in it can pass for the structure of the block that it stands in (I15).
#[must_use]
pub fn indented(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<String> = text.split('\n').map(|line| format!("    {line}")).collect();
    lines.join("\n")
}

/// A path as a ref keeps it.
pub(crate) fn path_of_ref(path: &str) -> String {
    if path.len() <= MOST_REF_PATH_BYTES {
        return path.to_owned();
    }
    let kept = path.ceil_char_boundary(path.len() - (MOST_REF_PATH_BYTES - CUT.len()));
    format!("{CUT}{}", path.get(kept..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_ends_before_the_grapheme_that_would_be_too_much() {
        let flags = "🇩🇪🇫🇷🇮🇹";
        assert_eq!(
            [1, 2, 3, 4, 5, 6, 7].map(|most| head(flags, most).chars().count()),
            [0, 2, 2, 4, 4, 6, 6]
        );
        assert_eq!((head("e\u{301}x", 1), head("e\u{301}x", 2), head("a\r\nb", 2)), ("", "e\u{301}", "a"));
        assert_eq!((head("", 0), head("ab", 0), head("äb", 1)), ("", "", "ä"));
    }

    #[test]
    fn text_is_cut_between_characters_and_only_when_it_is_longer() {
        assert_eq!(cut("äöü".to_owned(), 6), "äöü");
        assert_eq!(cut("äöü".to_owned(), 5), "äö\n[cut here: 2 of 6 bytes left out]");
    }
}
