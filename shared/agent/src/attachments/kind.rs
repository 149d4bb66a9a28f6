//! Detects a file's kind from its bytes, because names and media types are only the client's claims.

use contracts::request::{Artifact, Contents, ImageType};

/// The form in which a file can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind<'a> {
    /// Text in the block.
    Text(&'a str),
    /// An image part.
    Image(ImageType),
    /// A document part.
    Pdf,
    /// Only the name.
    Unreadable,
}

impl<'a> FileKind<'a> {
    pub(super) fn detect(artifact: &'a Artifact) -> Self {
        let bytes = artifact.contents.as_bytes();
        // A PDF may happen to be valid UTF-8.
        if bytes.starts_with(b"%PDF-") {
            return Self::Pdf;
        }
        match &artifact.contents {
            Contents::Text(text) => Self::Text(text),
            Contents::Binary(bytes) => ImageType::from_signature(bytes).map_or(Self::Unreadable, Self::Image),
        }
    }
}
