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
    read::AgentSessionActiveFileRef,
    request::{Artifact, UserTurn},
};

pub use attach::MOST_ATTACHMENT_BYTES;
pub use choose::{MOST_REF_PATH_BYTES, choose};
pub use warn::warnings;

use crate::model::Attachment;

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
}

/// Each artifact with what was decided about it.
fn files<'a>(
    request: &'a UserTurn,
    refs: &'a [AgentSessionActiveFileRef],
) -> impl Iterator<Item = (&'a Artifact, &'a AgentSessionActiveFileRef)> {
    request.input_artifacts.iter().zip(refs)
}
