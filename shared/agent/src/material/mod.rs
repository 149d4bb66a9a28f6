//! Material: the files and images that go to the model with a user turn (AGN-034 §4.2, §4.3).
//!
//! Decided once, at the turn's start, and kept as the turn's [`AgentSessionActiveFileRef`]s: [`choose`]
//! says which files go. What goes follows from the stored request and those refs alone
//! ([`Material::of`]), so a takeover and a chain that is rebuilt send the same, whatever became of the
//! conversation's budgets meanwhile.
//!
//! A file goes whole or not at all: an excerpt that does not say so would be answered as if it were the
//! file. Everything is stored with the instruction, sent or not.

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

pub use attach::MOST_ATTACHMENT_BYTES;
pub use choose::choose;
pub use warn::warnings;

use crate::{block::one_line, model::Attachment, text::tokens};

/// What goes with a request to the model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Material {
    /// The `[ACTIVE_FILES]` block. None when no file can be shown in it.
    pub files_block: Option<String>,
    /// Files and images that the model reads itself: artifacts in the request's order, then pasted images.
    pub attachments: Vec<Attachment>,
}

impl Material {
    /// The material of a turn whose start chose these refs, one per artifact.
    #[must_use]
    pub fn of(request: &UserTurn, refs: &[AgentSessionActiveFileRef]) -> Self {
        Self {
            files_block: files_block::block(files(request, refs)),
            attachments: attach::all(request, refs),
        }
    }

    /// About how many tokens it takes. What an image or a document takes only the provider can tell: here it
    /// is a token per 64 bytes, and at least 1,000.
    #[must_use]
    pub fn tokens(&self) -> u32 {
        let attached = self.attachments.iter().map(|attachment| match attachment {
            Attachment::Image { bytes, .. } | Attachment::File { bytes, .. } => {
                u32::try_from(bytes.len() / 64).unwrap_or(u32::MAX).max(1_000)
            }
        });
        attached.chain(self.files_block.as_deref().map(tokens)).fold(0, u32::saturating_add)
    }
}

/// The block that stands in the place of all this where it is not repeated: what it was, by name and hash.
#[must_use]
pub fn named(request: &UserTurn, refs: &[AgentSessionActiveFileRef]) -> Option<String> {
    files_block::named(files(request, refs), pasted(request))
}

/// What the same is called before a user: each with its hash.
#[must_use]
pub fn names(request: &UserTurn, refs: &[AgentSessionActiveFileRef]) -> Vec<String> {
    let files = names_of_files(refs);
    let images = pasted(request).map(|image| {
        format!("the pasted image {} ({})", one_line(&image.id), ContentHash::of_bytes(&image.bytes))
    });
    files.chain(images).collect()
}

/// What the files that were sent are called before a user, where what came with the turn can't be read.
pub fn names_of_files(refs: &[AgentSessionActiveFileRef]) -> impl Iterator<Item = String> {
    let sent = refs.iter().filter(|chosen| chosen.was_sent_to_llm);
    sent.map(|chosen| format!("{} ({})", one_line(&chosen.path), chosen.content_hash))
}

/// The pasted images that were sent.
fn pasted(request: &UserTurn) -> impl Iterator<Item = &ClipboardImage> {
    request.clipboard_images.iter().filter(|image| attach::fits(&image.bytes))
}

/// Each artifact with what was decided about it.
fn files<'a>(
    request: &'a UserTurn,
    refs: &'a [AgentSessionActiveFileRef],
) -> impl Iterator<Item = (&'a Artifact, &'a AgentSessionActiveFileRef)> {
    request.input_artifacts.iter().zip(refs)
}
