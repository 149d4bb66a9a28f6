//! What stands before a file and decides what takes its place.

/// What a link to a file has to look like where the file stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The URL stands for itself: in a link, an image, an attribute, a reference's definition.
    Url,
    /// After a `<`, which goes with the file if a `>` does.
    Angle,
    /// At the beginning of a line, after a run that might have gone on there.
    OwnLine,
    /// Anywhere else.
    Plain,
}

/// The last characters before a place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before {
    /// Eight of them, one in a byte, the last one lowest.
    last: u64,
    /// They are those before a reference's destination: `]:` and blanks.
    is_reference: bool,
}

/// A line begins.
impl Default for Before {
    fn default() -> Self {
        Self { last: u64::from(b'\n'), is_reference: false }
    }
}

impl Before {
    pub(super) fn push(&mut self, byte: u8) {
        let begins = byte == b':' && self.ends_with(b"]");
        self.is_reference = begins || self.is_reference && matches!(byte, b' ' | b'<');
        self.last = self.last << 8 | u64::from(byte);
    }

    /// Whether these, at most eight, are the last ones.
    pub(super) fn ends_with(&self, end: &[u8]) -> bool {
        self.last.to_be_bytes().ends_with(end)
    }

    /// Whether they are a whole word `data`, but for a colon.
    pub(super) fn ends_a_scheme(&self) -> bool {
        let [.., before, d, a, t, last] = self.last.to_be_bytes();
        [d, a, t, last].eq_ignore_ascii_case(b"data") && !before.is_ascii_alphanumeric()
    }

    pub(super) fn place(&self) -> Place {
        let takes_url: [&[u8]; 6] = [b"](", b"](<", b"=", b"=\"", b"='", b"url("];
        if self.is_reference || takes_url.iter().any(|end| self.ends_with(end)) {
            Place::Url
        } else if self.ends_with(b"<") {
            Place::Angle
        } else {
            Place::Plain
        }
    }
}
