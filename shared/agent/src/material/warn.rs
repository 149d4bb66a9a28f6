//! What the user is told about files that the model did not get.

use contracts::{
    read::AgentSessionActiveFileRef,
    request::{Artifact, UserTurn},
};

use super::{
    attach::{MOST_ATTACHMENT_BYTES, fits},
    files,
    kind::Kind,
};
use crate::{block::one_line, context::Budgets, text::tokens};

/// A sentence per file or image that was left out: which, why, and what to do.
#[must_use]
pub fn warnings(request: &UserTurn, refs: &[AgentSessionActiveFileRef], budgets: &Budgets) -> Vec<String> {
    let left_out = files(request, refs).filter(|(_, chosen)| !chosen.was_sent_to_llm);
    let files = left_out.map(|(artifact, chosen)| {
        format!("{} was not sent to the model: {}", one_line(&chosen.path), why(artifact, budgets))
    });
    let images = request.clipboard_images.iter().filter(|image| !fits(&image.bytes));
    let images = images.map(|image| {
        format!("The pasted image {} was not sent to the model: {}", one_line(&image.id), attachment())
    });
    files.chain(images).collect()
}

fn why(artifact: &Artifact, budgets: &Budgets) -> String {
    let Budgets { file_tokens, total_file_tokens, .. } = *budgets;
    match Kind::of(artifact) {
        Kind::Text(_) | Kind::Image(_) | Kind::Pdf if file_tokens == 0 => {
            "this conversation sends no files.".to_owned()
        }
        Kind::Text(text) if tokens(text) > file_tokens => format!(
            "it has about {} tokens, and one file may have {file_tokens}. Send the part that matters.",
            tokens(text)
        ),
        Kind::Image(_) | Kind::Pdf if !fits(artifact.contents.as_bytes()) => attachment(),
        Kind::Text(_) | Kind::Image(_) | Kind::Pdf => format!(
            "the files before it left too little of the {total_file_tokens} tokens that all files together may have. Send fewer files, or this one first."
        ),
        Kind::Unreadable => {
            "it is neither text nor an image or document that the model can read. Its name was told."
                .to_owned()
        }
    }
}

fn attachment() -> String {
    format!("it is larger than {} MiB. Send a smaller one.", MOST_ATTACHMENT_BYTES >> 20)
}
