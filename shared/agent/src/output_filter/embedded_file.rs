//! Files that are embedded in a text.

use std::ops::Range;

use super::preceding_text::LinkStyle;

/// Minimum length of a run or a URI that counts as an embedded file, in characters.
pub const MIN_EMBEDDED_CHARS: usize = 512;

/// True for a byte of the standard or the URL-safe base64 alphabet.
pub(super) fn is_run_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// An embedded file and its position in the text.
#[derive(Debug)]
pub(super) struct Match {
    pub(super) range: Range<usize>,
    pub(super) is_uri: bool,
    pub(super) style: LinkStyle,
    /// True if a `>` follows.
    pub(super) is_followed_by_angle: bool,
    /// True if the next character would extend a URL put here: another run right after this one's padding.
    pub(super) needs_space: bool,
}

impl Match {
    /// Creates the match of a file that ends here. `next` is the character at `at`.
    pub(super) fn new(start: Start, end: usize, is_uri: bool, at: usize, next: Option<u8>) -> Self {
        let next = next.filter(|_| at == end);
        Self {
            range: start.at..end,
            is_uri,
            style: start.style,
            is_followed_by_angle: next == Some(b'>'),
            needs_space: start.style == LinkStyle::Url && next.is_some_and(is_run_byte),
        }
    }

    /// Returns the range that the link replaces, including angle brackets around the file.
    pub(super) fn replaced_range(&self) -> Range<usize> {
        let Range { start, end } = self.range;
        if self.style == LinkStyle::AngleBracket && self.is_followed_by_angle {
            start.saturating_sub(1)..end + 1
        } else {
            start..end
        }
    }
}

/// A possible start of an embedded file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start {
    pub(super) at: usize,
    pub(super) style: LinkStyle,
    /// Start of the text held back for it.
    pub(super) held_from: usize,
}
