//! The attachments of a turn: a block of text, and files that the provider reads itself.

use bytes::Bytes;
use contracts::{read::AgentSessionActiveFileRef, request::UserTurn};
use serde::{Deserialize, Serialize};

use super::{
    files_block,
    kind::FileKind,
    request_files::{files, sent_images},
};
use crate::{
    model::{Attachment, attached_tokens},
    text::{estimate_tokens, tokens},
};

/// The files of a turn, prepared for a model request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Attachments {
    /// The `[ACTIVE_FILES]` block. `None` if it would be empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_block: Option<String>,
    /// Files and images that the provider reads itself: artifacts in the request's order, then pasted images.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Attachment>,
}

impl Attachments {
    /// Creates the attachments of a turn from the refs that its start chose, one per artifact.
    #[must_use]
    pub fn new(request: &UserTurn, refs: &[AgentSessionActiveFileRef]) -> Self {
        Self {
            files_block: files_block::block(files(request, refs), sent_images(request)),
            parts: build(request, refs),
        }
    }

    /// Estimates their tokens.
    #[must_use]
    pub fn tokens(&self) -> u32 {
        let attached = self.parts.iter().map(Attachment::tokens);
        let attached = attached.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX));
        attached.chain(self.files_block.as_deref().map(tokens)).fold(0, u32::saturating_add)
    }
}

/// Estimates the tokens of the chosen files and the pasted images without building them.
#[must_use]
pub fn estimated_tokens(request: &UserTurn, refs: &[AgentSessionActiveFileRef]) -> u64 {
    let chosen = files(request, refs).filter(|(_, chosen)| chosen.was_sent_to_llm);
    let artifacts = chosen.map(|(artifact, _)| match FileKind::detect(artifact) {
        FileKind::Text(text) => estimate_tokens(u64::try_from(text.len()).unwrap_or(u64::MAX)),
        FileKind::Image(_) | FileKind::Pdf => attached_tokens(artifact.contents.as_bytes().len()),
        FileKind::Unreadable => 0,
    });
    let images = sent_images(request).map(|image| attached_tokens(image.bytes.len()));
    artifacts.chain(images).fold(0, u64::saturating_add)
}

/// Returns the chosen artifacts, then the pasted images, each in the request's order.
fn build(request: &UserTurn, refs: &[AgentSessionActiveFileRef]) -> Vec<Attachment> {
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
    let images = sent_images(request).map(|image| Attachment::Image {
        media_type: image.image_type.mime_type().to_owned(),
        bytes: Bytes::copy_from_slice(&image.bytes),
    });
    artifacts.chain(images).collect()
}
