//! Chooses the files to send, within the conversation's limits and in the request's order.

use contracts::{
    read::AgentSessionActiveFileRef,
    request::{Artifact, UserTurn},
};

use super::{files_block, kind::FileKind, request_files::MAX_ATTACHMENT_BYTES};
use crate::{
    context::PromptLimits,
    text::{ref_path, tokens},
};

/// Returns a ref per artifact, in the request's order.
///
/// Text is limited to `file_tokens` per file and `total_file_tokens` in total, headers included. Images and documents
/// are limited to [`MAX_ATTACHMENT_BYTES`] each, because only the provider knows their tokens. A limit of zero
/// excludes both. A file that doesn't fit is left out completely and doesn't count toward the limits.
///
/// `before` are the refs of the session's previous turn. A file is touched if that turn had its path with other
/// contents.
#[must_use]
pub fn choose(
    request: &UserTurn,
    limits: &PromptLimits,
    before: &[AgentSessionActiveFileRef],
) -> Vec<AgentSessionActiveFileRef> {
    let mut left = limits.total_file_tokens;
    let mut choose = |artifact: &Artifact| {
        let mut chosen = new_ref(artifact, before);
        let header = files_block::header_tokens(artifact, &chosen);
        match FileKind::detect(artifact) {
            FileKind::Text(text) => {
                let tokens = tokens(text);
                let all = header.saturating_add(tokens);
                chosen.was_sent_to_llm = tokens <= limits.file_tokens && all <= left;
                chosen.was_too_large_to_send = !chosen.was_sent_to_llm;
                left -= if chosen.was_sent_to_llm { all } else { 0 };
            }
            FileKind::Image(_) | FileKind::Pdf => {
                let size = artifact.contents.as_bytes().len();
                let fits = limits.file_tokens > 0 && size <= MAX_ATTACHMENT_BYTES && header <= left;
                chosen.was_sent_to_llm = fits;
                chosen.was_too_large_to_send = !fits;
                left -= if fits { header } else { 0 };
            }
            FileKind::Unreadable => {}
        }
        chosen
    };
    request.input_artifacts.iter().map(&mut choose).collect()
}

fn new_ref(artifact: &Artifact, before: &[AgentSessionActiveFileRef]) -> AgentSessionActiveFileRef {
    let path = ref_path(artifact.relative_path.as_str());
    let content_hash = artifact.contents.hash();
    let mut earlier = before.iter().filter(|earlier| earlier.path == path).peekable();
    let is_touched = earlier.peek().is_some() && earlier.all(|earlier| earlier.content_hash != content_hash);
    AgentSessionActiveFileRef {
        path,
        content_hash,
        size_bytes: u64::try_from(artifact.contents.as_bytes().len()).unwrap_or(u64::MAX),
        is_touched,
        was_sent_to_llm: false,
        was_too_large_to_send: false,
    }
}
