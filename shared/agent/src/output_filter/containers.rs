//! The block quotes and list items that a line of Markdown is in.

/// A block that holds blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    Quote,
    Item {
        /// Columns by which lines of the item are indented.
        indent: usize,
        /// True after the item's first line if that has no content. A blank line then ends the item.
        is_empty: bool,
    },
}

/// The open containers, outermost first, and the part of them that the current line continues.
#[derive(Debug, Default)]
pub(super) struct Containers {
    open: Vec<Container>,
    matched: usize,
    /// Columns of blanks that belong to no container.
    indent: usize,
    /// Column of the next character, for tabs.
    column: usize,
    /// True after a quote mark, which includes one blank.
    is_after_quote: bool,
    /// Position of the text after the matched containers.
    end: usize,
    /// Columns between the parent's content and the new item's content.
    item_offset: usize,
}

impl Containers {
    pub(super) fn matched(&self) -> usize {
        self.matched
    }

    pub(super) fn indent(&self) -> usize {
        self.indent
    }

    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// True if the line continues all of them.
    pub(super) fn is_matched(&self) -> bool {
        self.matched == self.open.len()
    }

    /// Returns the prefix of a new line in the containers that the line continues.
    pub(super) fn continuation(&self) -> String {
        let prefix = |container: &Container| match container {
            Container::Quote => "> ".to_owned(),
            Container::Item { indent, .. } => " ".repeat(*indent),
        };
        self.open.iter().take(self.matched).map(prefix).collect()
    }

    /// Takes a blank or a tab in the prefix. Enough of them continue an item.
    pub(super) fn take_blank(&mut self, c: char, at: usize) {
        let mut width = if c == '\t' { 4 - self.column % 4 } else { 1 };
        self.column += width;
        if std::mem::take(&mut self.is_after_quote) {
            width -= 1;
            self.end = at + 1;
        }
        self.indent += width;
        while let Some(Container::Item { indent, .. }) = self.open.get(self.matched)
            && self.indent >= *indent
        {
            self.indent -= *indent;
            self.matched += 1;
            self.end = at + 1;
        }
    }

    /// Takes a quote mark. Returns false if it continues no quote.
    pub(super) fn take_quote(&mut self, at: usize) -> bool {
        let continues = self.open.get(self.matched) == Some(&Container::Quote);
        if continues {
            self.begin(at + 1, 1);
            self.matched += 1;
            self.is_after_quote = true;
        }
        continues
    }

    /// Begins a quote at its mark.
    pub(super) fn push_quote(&mut self, at: usize) {
        self.push(Container::Quote, at + 1, 1);
        self.is_after_quote = true;
    }

    /// Begins an item at the blank after its marker, which has this width.
    pub(super) fn push_item(&mut self, width: usize, at: usize) {
        self.item_offset = self.indent + width;
        self.push(Container::Item { indent: self.item_offset + 1, is_empty: false }, at + 1, width);
    }

    /// Ends the blanks after an item's marker at its content. With more than four, they belong to the content.
    pub(super) fn resolve_item(&mut self, at: usize) {
        if self.indent > 4 {
            self.indent -= 1;
        } else {
            if let Some(Container::Item { indent, .. }) = self.open.last_mut() {
                *indent = self.item_offset + self.indent;
            }
            self.indent = 0;
            self.end = at;
        }
    }

    /// Ends the first line of an item without content.
    pub(super) fn empty_item(&mut self) {
        if let Some(Container::Item { is_empty, .. }) = self.open.last_mut() {
            *is_empty = true;
        }
    }

    /// Removes the item that began in this line.
    pub(super) fn pop_item(&mut self) {
        self.open.pop();
        self.matched = self.open.len();
    }

    /// Closes the containers that a line with content doesn't continue. Returns true if there are any.
    pub(super) fn close_unmatched(&mut self) -> bool {
        let closes = !self.is_matched();
        self.open.truncate(self.matched);
        if let Some(Container::Item { is_empty, .. }) = self.open.last_mut() {
            *is_empty = false;
        }
        closes
    }

    /// Ends a blank line, which continues items and no quotes. Returns true if it closes a container.
    pub(super) fn take_blank_line(&mut self) -> bool {
        while let Some(Container::Item { .. }) = self.open.get(self.matched) {
            self.matched += 1;
        }
        let is_empty = |container: &Container| matches!(container, Container::Item { is_empty: true, .. });
        if self.open.get(..self.matched).and_then(<[_]>::last).is_some_and(is_empty) {
            self.matched -= 1;
        }
        let closes = !self.is_matched();
        self.open.truncate(self.matched);
        closes
    }

    pub(super) fn truncate(&mut self, containers: usize) {
        self.open.truncate(containers);
        self.matched = self.open.len();
    }

    /// Begins a line at this position.
    pub(super) fn start_line(&mut self, at: usize) {
        (self.matched, self.indent, self.column, self.end) = (0, 0, 0, at);
        self.is_after_quote = false;
    }

    /// Continues all containers without their prefix.
    pub(super) fn match_all(&mut self) {
        self.matched = self.open.len();
        self.column = self.continuation().len();
    }

    fn push(&mut self, container: Container, end: usize, width: usize) {
        self.close_unmatched();
        self.begin(end, width);
        self.open.push(container);
        self.matched = self.open.len();
    }

    fn begin(&mut self, end: usize, width: usize) {
        (self.indent, self.end) = (0, end);
        self.column += width;
        self.is_after_quote = false;
    }
}
