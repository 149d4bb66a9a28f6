//! Maps bytes to lines.

/// The offsets at which the lines of a text begin, in bytes.
pub(super) struct LineIndex(Vec<usize>);

impl LineIndex {
    pub(super) fn new(text: &str) -> Self {
        Self(std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    /// Returns the line of a byte, from 1.
    pub(super) fn line_of(&self, byte: usize) -> u32 {
        u32::try_from(self.0.partition_point(|begin| *begin <= byte)).unwrap_or(u32::MAX)
    }

    /// Returns the offset at which the line of a byte begins.
    pub(super) fn line_start(&self, byte: usize) -> usize {
        let line = self.0.partition_point(|begin| *begin <= byte);
        self.0.get(line.saturating_sub(1)).copied().unwrap_or(0)
    }
}
