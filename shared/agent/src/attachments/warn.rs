//! Warnings for the user about files that the model didn't get.

use contracts::{
    read::AgentSessionActiveFileRef,
    request::{Artifact, UserTurn},
};

use super::{
    kind::FileKind,
    request_files::{MAX_ATTACHMENT_BYTES, files, fits},
};
use crate::{
    context::PromptLimits,
    text::{block::one_line, tokens},
};

/// Returns a sentence per file or image that was left out: its name, the reason and the fix.
#[must_use]
pub fn warnings(
    request: &UserTurn,
    refs: &[AgentSessionActiveFileRef],
    limits: &PromptLimits,
) -> Vec<String> {
    let left_out = files(request, refs).filter(|(_, chosen)| !chosen.was_sent_to_llm);
    let files = left_out.map(|(artifact, chosen)| {
        format!(
            "{} was not sent to the model: {}",
            one_line(&chosen.path),
            exclusion_reason(artifact, limits)
        )
    });
    let images = request.clipboard_images.iter().filter(|image| !fits(&image.bytes));
    let images = images.map(|image| {
        format!("The pasted image {} was not sent to the model: {}", one_line(&image.id), too_large())
    });
    files.chain(images).collect()
}

fn exclusion_reason(artifact: &Artifact, limits: &PromptLimits) -> String {
    let PromptLimits { file_tokens, total_file_tokens, .. } = *limits;
    match FileKind::detect(artifact) {
        FileKind::Text(_) | FileKind::Image(_) | FileKind::Pdf if file_tokens == 0 => {
            "this conversation sends no files.".to_owned()
        }
        FileKind::Text(text) if tokens(text) > file_tokens => format!(
            "it has about {} tokens, and one file may have {file_tokens}. Send the part that matters.",
            tokens(text)
        ),
        FileKind::Image(_) | FileKind::Pdf if !fits(artifact.contents.as_bytes()) => too_large(),
        FileKind::Text(_) | FileKind::Image(_) | FileKind::Pdf => format!(
            "the files before it left too little of the {total_file_tokens} tokens that all files together may have. Send fewer files, or this one first."
        ),
        FileKind::Unreadable => {
            "it is neither text nor an image or document that the model can read. Its name was told."
                .to_owned()
        }
    }
}

fn too_large() -> String {
    format!("it is larger than {} MiB. Send a smaller one.", MAX_ATTACHMENT_BYTES >> 20)
}
