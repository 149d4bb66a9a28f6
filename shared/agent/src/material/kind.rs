//! What a file is to a model: by its bytes, since names and media types are what a client says.

use contracts::request::{Artifact, Contents, ImageType};

/// How a file can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    /// As text in the block.
    Text(&'a str),
    /// As an image part.
    Image(ImageType),
    /// As a document part.
    Pdf,
    /// Not at all: only its name can be told.
    Unreadable,
}

impl<'a> Kind<'a> {
    pub(super) fn of(artifact: &'a Artifact) -> Self {
        let bytes = artifact.contents.as_bytes();
        // A PDF may happen to be valid UTF-8.
        if bytes.starts_with(b"%PDF-") {
            return Self::Pdf;
        }
        match &artifact.contents {
            Contents::Text(text) => Self::Text(text),
            Contents::Binary(bytes) => ImageType::of_bytes(bytes).map_or(Self::Unreadable, Self::Image),
        }
    }
}
