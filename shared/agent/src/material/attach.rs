//! Files and images that the model reads itself.

use bytes::Bytes;
use contracts::{read::AgentSessionActiveFileRef, request::UserTurn};

use super::{files, kind::Kind};
use crate::model::Attachment;

/// The largest image or document that is sent, in bytes. How many there can be follows from the request's
/// own limits.
pub const MOST_ATTACHMENT_BYTES: usize = 2 << 20;

/// Those of the artifacts that were chosen, then the pasted images, each in the request's order.
pub(super) fn all(request: &UserTurn, refs: &[AgentSessionActiveFileRef]) -> Vec<Attachment> {
    let chosen = files(request, refs).filter(|(_, chosen)| chosen.was_sent_to_llm);
    let artifacts = chosen.filter_map(|(artifact, _)| {
        let bytes = || Bytes::copy_from_slice(artifact.contents.as_bytes());
        match Kind::of(artifact) {
            Kind::Image(kind) => {
                Some(Attachment::Image { media_type: kind.mime_type().to_owned(), bytes: bytes() })
            }
            Kind::Pdf => Some(Attachment::File {
                name: artifact.file_name.as_str().to_owned(),
                media_type: "application/pdf".to_owned(),
                bytes: bytes(),
            }),
            Kind::Text(_) | Kind::Unreadable => None,
        }
    });
    let pasted =
        request.clipboard_images.iter().filter(|image| fits(&image.bytes)).map(|image| Attachment::Image {
            media_type: image.image_type.mime_type().to_owned(),
            bytes: Bytes::copy_from_slice(&image.bytes),
        });
    artifacts.chain(pasted).collect()
}

/// Whether an image or document is small enough to be sent.
pub(super) fn fits(bytes: &[u8]) -> bool {
    bytes.len() <= MOST_ATTACHMENT_BYTES
}
