//! The files and images of a request.

use contracts::{
    read::AgentSessionActiveFileRef,
    request::{Artifact, ClipboardImage, UserTurn},
};

/// Maximum size of an image or document that is sent, in bytes. The request's own limits bound their number.
pub const MAX_ATTACHMENT_BYTES: usize = 2 << 20;

/// True if an image or document is small enough to send.
pub(super) fn fits(bytes: &[u8]) -> bool {
    bytes.len() <= MAX_ATTACHMENT_BYTES
}

/// Returns the pasted images that were sent.
pub(super) fn sent_images(request: &UserTurn) -> impl Iterator<Item = &ClipboardImage> {
    request.clipboard_images.iter().filter(|image| fits(&image.bytes))
}

/// Returns each artifact with its ref.
pub(super) fn files<'a>(
    request: &'a UserTurn,
    refs: &'a [AgentSessionActiveFileRef],
) -> impl Iterator<Item = (&'a Artifact, &'a AgentSessionActiveFileRef)> {
    request.input_artifacts.iter().zip(refs)
}
