//! The files and images that go to the model with a user turn.
//!
//! [`choose`] decides once, at the turn's start, which files go, and the decision is stored as the turn's
//! [`AgentSessionActiveFileRef`]s. [`Attachments::new`] depends only on the stored request and those refs. So a
//! takeover or a replay sends the same files, even if the budgets have changed.
//!
//! A file goes complete or not at all: the model would take an unmarked excerpt for the file. Everything is stored
//! with the instruction, sent or not.

mod attach;
mod choose;
mod files_block;
mod kind;
#[cfg(test)]
mod tests;
mod warn;

use contracts::{
    ContentHash,
    read::AgentSessionActiveFileRef,
    request::{Artifact, ClipboardImage, UserTurn},
};

pub use attach::MAX_ATTACHMENT_BYTES;
pub use choose::choose;
pub use warn::warnings;

use crate::{
    model::Attachment,
    text::{block::one_line, tokens},
};

/// The files of a turn, prepared for a model request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attachments {
    /// The `[ACTIVE_FILES]` block; none if it would be empty.
    pub files_block: Option<String>,
    /// Files and images that the provider reads itself: artifacts in the request's order, then pasted images.
    pub parts: Vec<Attachment>,
}

impl Attachments {
    /// Creates the attachments of a turn from the refs that its start chose, one per artifact.
    #[must_use]
    pub fn new(request: &UserTurn, refs: &[AgentSessionActiveFileRef]) -> Self {
        Self { files_block: files_block::block(files(request, refs)), parts: attach::build(request, refs) }
    }

    /// Estimates their tokens. Only the provider knows the tokens of an image or a document; the estimate is one per
    /// 64 bytes, and at least 1,000.
    #[must_use]
    pub fn tokens(&self) -> u32 {
        let attached = self.parts.iter().map(|attachment| match attachment {
            Attachment::Image { bytes, .. } | Attachment::File { bytes, .. } => {
                u32::try_from(bytes.len() / 64).unwrap_or(u32::MAX).max(1_000)
            }
        });
        attached.chain(self.files_block.as_deref().map(tokens)).fold(0, u32::saturating_add)
    }
}

/// Returns the block that replaces the attachments if they are not repeated, with their names and hashes.
#[must_use]
pub fn names_block(request: &UserTurn, refs: &[AgentSessionActiveFileRef]) -> Option<String> {
    files_block::names_block(files(request, refs), sent_images(request))
}

/// Returns the names of the attachments for the user, with their hashes.
#[must_use]
pub fn display_names(request: &UserTurn, refs: &[AgentSessionActiveFileRef]) -> Vec<String> {
    let files = file_names(refs);
    let images = sent_images(request).map(|image| {
        format!("the pasted image {} ({})", one_line(&image.id), ContentHash::hash_bytes(&image.bytes))
    });
    files.chain(images).collect()
}

/// Returns the names of the sent files for the user, if the turn's request can't be read.
pub fn file_names(refs: &[AgentSessionActiveFileRef]) -> impl Iterator<Item = String> {
    let sent = refs.iter().filter(|chosen| chosen.was_sent_to_llm);
    sent.map(|chosen| format!("{} ({})", one_line(&chosen.path), chosen.content_hash))
}

/// Returns the pasted images that were sent.
fn sent_images(request: &UserTurn) -> impl Iterator<Item = &ClipboardImage> {
    request.clipboard_images.iter().filter(|image| attach::fits(&image.bytes))
}

/// Returns each artifact with its ref.
fn files<'a>(
    request: &'a UserTurn,
    refs: &'a [AgentSessionActiveFileRef],
) -> impl Iterator<Item = (&'a Artifact, &'a AgentSessionActiveFileRef)> {
    request.input_artifacts.iter().zip(refs)
}
