//! Files and images that the provider reads itself.

use bytes::Bytes;
use contracts::{read::AgentSessionActiveFileRef, request::UserTurn};

use super::{files, kind::FileKind};
use crate::model::Attachment;

/// Maximum size of an image or document that is sent, in bytes. The request's own limits bound their number.
pub const MAX_ATTACHMENT_BYTES: usize = 2 << 20;

/// Returns the chosen artifacts, then the pasted images, each in the request's order.
pub(super) fn build(request: &UserTurn, refs: &[AgentSessionActiveFileRef]) -> Vec<Attachment> {
    let chosen = files(request, refs).filter(|(_, chosen)| chosen.was_sent_to_llm);
    let artifacts = chosen.filter_map(|(artifact, _)| {
        let bytes = || Bytes::copy_from_slice(artifact.contents.as_bytes());
        match FileKind::detect(artifact) {
            FileKind::Image(kind) => {
                Some(Attachment::Image { media_type: kind.mime_type().to_owned(), bytes: bytes() })
            }
            FileKind::Pdf => Some(Attachment::File {
                name: artifact.file_name.as_str().to_owned(),
                media_type: "application/pdf".to_owned(),
                bytes: bytes(),
            }),
            FileKind::Text(_) | FileKind::Unreadable => None,
        }
    });
    let sent_images =
        request.clipboard_images.iter().filter(|image| fits(&image.bytes)).map(|image| Attachment::Image {
            media_type: image.image_type.mime_type().to_owned(),
            bytes: Bytes::copy_from_slice(&image.bytes),
        });
    artifacts.chain(sent_images).collect()
}

/// True if an image or document is small enough to send.
pub(super) fn fits(bytes: &[u8]) -> bool {
    bytes.len() <= MAX_ATTACHMENT_BYTES
}
