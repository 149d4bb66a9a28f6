//! The characters before an embedded file, which decide the style of the link that replaces it.

/// Style of the link that replaces an embedded file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkStyle {
    /// A bare URL: within a link, an image, an attribute or a reference definition.
    Url,
    /// After a `<`, which is replaced with the file if a `>` follows.
    AngleBracket,
    /// Anywhere else.
    Inline,
}

/// The last characters before a position.
#[derive(Debug, Clone, Copy)]
pub(super) struct PrecedingText {
    /// Eight characters, one per byte, the last one in the lowest.
    last: u64,
    /// True after `]:` and blanks, which precede the destination of a reference.
    is_reference: bool,
}

/// The start of a line.
impl Default for PrecedingText {
    fn default() -> Self {
        Self { last: u64::from(b'\n'), is_reference: false }
    }
}

impl PrecedingText {
    pub(super) fn push(&mut self, byte: u8) {
        let begins = byte == b':' && self.ends_with(b"]");
        self.is_reference = begins || self.is_reference && matches!(byte, b' ' | b'<');
        self.last = self.last << 8 | u64::from(byte);
    }

    /// True if the text ends with these bytes, at most eight.
    pub(super) fn ends_with(&self, end: &[u8]) -> bool {
        self.last.to_be_bytes().ends_with(end)
    }

    /// True if the text ends with the word `data`.
    pub(super) fn ends_with_data_scheme(&self) -> bool {
        let [.., before, d, a, t, last] = self.last.to_be_bytes();
        [d, a, t, last].eq_ignore_ascii_case(b"data") && !before.is_ascii_alphanumeric()
    }

    pub(super) fn link_style(&self) -> LinkStyle {
        let takes_url: [&[u8]; 6] = [b"](", b"](<", b"=", b"=\"", b"='", b"url("];
        if self.is_reference || takes_url.iter().any(|end| self.ends_with(end)) {
            LinkStyle::Url
        } else if self.ends_with(b"<") {
            LinkStyle::AngleBracket
        } else {
            LinkStyle::Inline
        }
    }
}
