//! Splits streamed Markdown into complete blocks.

use unicode_width::UnicodeWidthStr;

/// Buffer of the current, incomplete block.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    text: String,
    /// Start of its last line.
    line: usize,
    /// Closing marker of the open fence.
    fence: Option<String>,
}

impl Blocks {
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Appends a piece of a line. Returns the block that it completes, if any.
    pub(crate) fn push(&mut self, piece: &str) -> Option<String> {
        self.text.push_str(piece);
        if !piece.ends_with('\n') {
            return None;
        }
        let line = self.text.get(self.line..).unwrap_or_default().trim().to_owned();
        self.line = self.text.len();
        let is_complete = match &self.fence {
            Some(fence) => line.starts_with(fence) && line.chars().all(|letter| fence.contains(letter)),
            None => line.is_empty(),
        };
        if is_complete {
            return self.finish();
        }
        if self.fence.is_none() {
            self.fence =
                ["```", "~~~"].iter().find(|fence| line.starts_with(**fence)).map(|fence| fence.to_string());
        }
        None
    }

    /// Returns the incomplete block, if any.
    pub(crate) fn finish(&mut self) -> Option<String> {
        self.fence = None;
        self.line = 0;
        Some(std::mem::take(&mut self.text)).filter(|text| !text.is_empty())
    }
}

/// Returns the number of terminal rows that a text takes.
pub(crate) fn rows(text: &str, width: u16) -> usize {
    text.lines().map(|line| line.width().div_ceil(usize::from(width.max(1))).max(1)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_ends_at_blank_line_and_fence_at_its_close() {
        let mut blocks = Blocks::default();
        let text = "# One\n\ntwo\nthree\n\n```rust\nlet a;\n\nlet b;\n```\nfour";
        let mut blocks_found: Vec<String> =
            text.split_inclusive('\n').filter_map(|piece| blocks.push(piece)).collect();
        blocks_found.extend(blocks.finish());
        assert_eq!(blocks_found, ["# One\n\n", "two\nthree\n\n", "```rust\nlet a;\n\nlet b;\n```\n", "four"]);
        assert!(blocks.is_empty());
    }

    #[test]
    fn pieces_of_a_line_are_joined() {
        let mut blocks = Blocks::default();
        assert_eq!(
            ["``", "`\n", "\n", "``", "`"].map(|piece| blocks.push(piece)),
            [const { None::<String> }; 5]
        );
        assert_eq!(blocks.push("\n").as_deref(), Some("```\n\n```\n"));
    }

    #[test]
    fn long_line_takes_several_rows() {
        assert_eq!(rows("12345\n\n1234567890\n", 5), 4);
        assert_eq!(rows("日本語", 4), 2);
    }
}
