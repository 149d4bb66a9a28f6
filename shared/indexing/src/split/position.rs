//! Which line a byte is in.

/// Where the lines of a text begin, in bytes.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub(super) fn of(text: &str) -> Self {
        Self(std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    /// The line of a byte, from 1.
    pub(super) fn at(&self, byte: usize) -> u32 {
        u32::try_from(self.0.partition_point(|begin| *begin <= byte)).unwrap_or(u32::MAX)
    }

    /// Where the line of a byte begins.
    pub(super) fn begin_of(&self, byte: usize) -> usize {
        let line = self.0.partition_point(|begin| *begin <= byte);
        self.0.get(line.saturating_sub(1)).copied().unwrap_or(0)
    }
}
