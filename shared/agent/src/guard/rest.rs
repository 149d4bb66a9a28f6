//! What of a text is still needed.

use std::ops::Range;

/// The end of a text, from what is not final on. Places are counted from the text's beginning.
#[derive(Debug, Default)]
pub(super) struct Rest {
    text: String,
    /// The place of the first byte that is kept.
    begins: usize,
    /// How many bytes were looked at or moved: this is the only door to the text.
    #[cfg(test)]
    pub(super) looked_at: std::cell::Cell<usize>,
}

impl Rest {
    pub(super) fn push(&mut self, piece: &str) {
        self.text.push_str(piece);
    }

    /// The character at a place.
    pub(super) fn char(&self, at: usize) -> Option<char> {
        let c = self.text.get(at.checked_sub(self.begins)?..)?.chars().next()?;
        self.count(c.len_utf8());
        Some(c)
    }

    pub(super) fn get(&self, range: Range<usize>) -> &str {
        self.count(range.len());
        let kept = range.start.saturating_sub(self.begins)..range.end.saturating_sub(self.begins);
        self.text.get(kept).unwrap_or_default()
    }

    /// Forgets what stands before a place, once that is more than what has to be moved.
    pub(super) fn forget(&mut self, until: usize) {
        let forgotten = until.saturating_sub(self.begins);
        let moved = self.text.len().saturating_sub(forgotten);
        if forgotten >= moved && self.text.is_char_boundary(forgotten) {
            self.count(moved);
            self.text.drain(..forgotten);
            self.begins = until;
        }
    }

    #[cfg(test)]
    fn count(&self, bytes: usize) {
        self.looked_at.set(self.looked_at.get() + bytes);
    }

    #[cfg(not(test))]
    #[allow(clippy::unused_self, reason = "only tests count")]
    fn count(&self, _bytes: usize) {}
}
