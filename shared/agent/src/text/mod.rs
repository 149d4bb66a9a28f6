//! Measures and shortens text.

pub(crate) mod block;
pub mod excerpt;

use unicode_segmentation::GraphemeCursor;

/// Maximum size of a path in a file reference, in bytes of UTF-8. A longer path keeps its end, which names the file.
/// References to 64 files then stay under 80 KB, and their item under 100 KB.
pub const MAX_REF_PATH_BYTES: usize = 1_024;

/// Replaces the removed part of a path.
const ELLIPSIS: &str = "…";

/// Estimates the number of tokens in a text: one per three bytes of UTF-8, rounded up.
///
/// Source code and English have fewer, about one per four bytes. Other scripts have about one per character of two or
/// three bytes. So the estimate errs on the high side without a model's own tokenizer.
///
/// # Examples
/// ```
/// assert_eq!(agent::text::tokens("let x = 1;"), 4);
/// ```
#[must_use]
pub fn tokens(text: &str) -> u32 {
    u32::try_from(text.len().div_ceil(BYTES_PER_TOKEN)).unwrap_or(u32::MAX)
}

/// Estimates the number of tokens that a provider counts in so many bytes of UTF-8: one per four, rounded up, as in
/// English and in source code. Unlike [`tokens`] it doesn't err on the high side, because it is charged for.
#[must_use]
pub fn estimate_tokens(bytes: u64) -> u64 {
    bytes.div_ceil(4)
}

/// Estimates the tokens of a piece of a provider's stream. Most providers send a piece for each token, so a piece with
/// one word is one token. Others gather several tokens in a piece, and then its size counts.
///
/// # Examples
/// ```
/// assert_eq!(agent::text::estimate_piece_tokens(" lease"), 1);
/// assert_eq!(agent::text::estimate_piece_tokens("A lease on a running turn."), 7);
/// ```
#[must_use]
pub fn estimate_piece_tokens(piece: &str) -> u64 {
    let is_around = |character: char| character.is_whitespace() || character.is_ascii_punctuation();
    let word = piece.trim_matches(is_around);
    let is_one = word.len() <= MAX_WORD_BYTES && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match is_one && piece.len() <= 2 * MAX_WORD_BYTES {
        true => u64::from(!piece.is_empty()),
        false => estimate_tokens(u64::try_from(piece.len()).unwrap_or(u64::MAX)),
    }
}

/// Maximum size of a word that is one token, in bytes. The longest English words of common tokenizers have about as many.
const MAX_WORD_BYTES: usize = 16;

/// Minimum number of bytes of UTF-8 per token, approximately.
pub const BYTES_PER_TOKEN: usize = 3;

/// Returns the head of a text: at most `max` Unicode scalar values, truncated at a grapheme boundary. A first grapheme
/// that alone has more, such as a run of combining marks, is truncated within, so that the head isn't empty.
#[must_use]
pub fn head(text: &str, max: usize) -> &str {
    // A text has no more scalar values than bytes, so most texts need no scan.
    if text.len() <= max {
        return text;
    }
    let Some((end, _)) = text.char_indices().nth(max) else {
        return text;
    };
    // Searches the boundary backwards from the limit, not through the whole text.
    let mut cursor = GraphemeCursor::new(end, text.len(), true);
    let end = match cursor.is_boundary(text, 0) {
        Ok(false) => cursor.prev_boundary(text, 0).ok().flatten().filter(|start| *start > 0).unwrap_or(end),
        _ => end,
    };
    text.get(..end).unwrap_or_default()
}

/// Truncates a text that has more than `max` bytes, and appends the size of the removed part.
#[must_use]
pub fn truncate(text: String, max: usize) -> String {
    if text.len() <= max {
        return text;
    }
    let head = text.split_at(text.floor_char_boundary(max)).0;
    format!("{head}\n[cut here: {} of {} bytes left out]", text.len() - head.len(), text.len())
}

/// True if a text may be truncated. A complete text can contain the same mark.
#[must_use]
pub fn may_be_truncated(text: &str) -> bool {
    text.contains("[cut here: ")
}

/// Indents every line, so that nothing in the text can imitate the structure of the block around it (I15).
#[must_use]
pub fn indent(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<String> = text.split('\n').map(|line| format!("    {line}")).collect();
    lines.join("\n")
}

/// Returns a path for a file reference.
pub(crate) fn ref_path(path: &str) -> String {
    if path.len() <= MAX_REF_PATH_BYTES {
        return path.to_owned();
    }
    let kept = path.ceil_char_boundary(path.len() - (MAX_REF_PATH_BYTES - ELLIPSIS.len()));
    format!("{ELLIPSIS}{}", path.get(kept..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_ends_before_grapheme_over_limit() {
        let flags = "🇩🇪🇫🇷🇮🇹";
        assert_eq!([1, 2, 3, 4, 5, 6, 7].map(|max| head(flags, max).chars().count()), [1, 2, 2, 4, 4, 6, 6]);
        assert_eq!((head("e\u{301}x", 1), head("e\u{301}x", 2), head("a\r\nb", 2)), ("e", "e\u{301}", "a"));
        assert_eq!(head(&"\u{301}".repeat(9), 3), "\u{301}".repeat(3));
        assert_eq!((head("", 0), head("ab", 0), head("äb", 1)), ("", "", "ä"));
    }

    #[test]
    fn text_is_truncated_between_characters_only_over_limit() {
        assert_eq!(truncate("äöü".to_owned(), 6), "äöü");
        assert_eq!(truncate("äöü".to_owned(), 5), "äö\n[cut here: 2 of 6 bytes left out]");
    }
}
