//! Which files go: within the conversation's budgets, in the request's order.

use contracts::{
    read::AgentSessionActiveFileRef,
    request::{Artifact, UserTurn},
};

use super::{attach::MOST_ATTACHMENT_BYTES, files_block, kind::Kind};
use crate::{
    context::Budgets,
    text::{path_of_ref, tokens},
};

/// A ref per artifact, in the request's order (DD-002B).
///
/// Text is held to `file_tokens` each and `total_file_tokens` together, its header included. Images and
/// documents are held to [`MOST_ATTACHMENT_BYTES`] each: what they cost in tokens only the provider can tell.
/// A budget of zero lets nothing through of either. A file that does not fit is left out whole and takes
/// nothing from what the next ones may use.
///
/// `before` are the refs of the session's previous turn: a file is touched when that turn carried its path
/// with other contents (ruling: IsTouched).
#[must_use]
pub fn choose(
    request: &UserTurn,
    budgets: &Budgets,
    before: &[AgentSessionActiveFileRef],
) -> Vec<AgentSessionActiveFileRef> {
    let mut left = budgets.total_file_tokens;
    let mut choose = |artifact: &Artifact| {
        let mut chosen = unsent(artifact, before);
        let named = files_block::tokens_of_header(artifact, &chosen);
        match Kind::of(artifact) {
            Kind::Text(text) => {
                let tokens = tokens(text);
                let all = named.saturating_add(tokens);
                chosen.was_sent_to_llm = tokens <= budgets.file_tokens && all <= left;
                chosen.was_too_large_to_send = !chosen.was_sent_to_llm;
                left -= if chosen.was_sent_to_llm { all } else { 0 };
            }
            Kind::Image(_) | Kind::Pdf => {
                let size = artifact.contents.as_bytes().len();
                let fits = budgets.file_tokens > 0 && size <= MOST_ATTACHMENT_BYTES && named <= left;
                chosen.was_sent_to_llm = fits;
                chosen.was_too_large_to_send = !fits;
                left -= if fits { named } else { 0 };
            }
            Kind::Unreadable => {}
        }
        chosen
    };
    request.input_artifacts.iter().map(&mut choose).collect()
}

fn unsent(artifact: &Artifact, before: &[AgentSessionActiveFileRef]) -> AgentSessionActiveFileRef {
    let path = path_of_ref(artifact.relative_path.as_str());
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
