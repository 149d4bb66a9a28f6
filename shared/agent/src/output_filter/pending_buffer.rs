//! The part of a text that is still needed.

use std::ops::Range;

/// The end of a text, from the first byte that isn't final. Positions count from the start of the text.
#[derive(Debug, Default)]
pub(super) struct PendingBuffer {
    text: String,
    /// Position of the first byte in the buffer.
    offset: usize,
    /// Number of bytes examined or moved. All access to the text goes through this type.
    #[cfg(test)]
    pub(super) examined: std::cell::Cell<usize>,
}

impl PendingBuffer {
    pub(super) fn push(&mut self, piece: &str) {
        self.text.push_str(piece);
    }

    /// Returns the character at a position.
    pub(super) fn char(&self, at: usize) -> Option<char> {
        let c = self.text.get(at.checked_sub(self.offset)?..)?.chars().next()?;
        self.count(c.len_utf8());
        Some(c)
    }

    pub(super) fn slice(&self, range: Range<usize>) -> &str {
        self.count(range.len());
        let local = range.start.saturating_sub(self.offset)..range.end.saturating_sub(self.offset);
        self.text.get(local).unwrap_or_default()
    }

    /// Discards the text before a position, once that is more than the text that has to be moved.
    pub(super) fn discard_until(&mut self, until: usize) {
        let discarded = until.saturating_sub(self.offset);
        let moved = self.text.len().saturating_sub(discarded);
        if discarded >= moved && self.text.is_char_boundary(discarded) {
            self.count(moved);
            self.text.drain(..discarded);
            self.offset = until;
        }
    }

    #[cfg(test)]
    fn count(&self, bytes: usize) {
        self.examined.set(self.examined.get() + bytes);
    }

    #[cfg(not(test))]
    #[allow(clippy::unused_self, reason = "only tests count")]
    fn count(&self, _bytes: usize) {}
}
