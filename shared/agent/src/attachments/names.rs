//! Names of attachments.

use contracts::{ContentHash, read::AgentSessionActiveFileRef, request::UserTurn};

use super::{
    files_block,
    request_files::{files, sent_images},
};
use crate::text::block::one_line;

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
