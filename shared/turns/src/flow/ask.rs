//! What a request asks, as far as a turn's fate depends on it.

use contracts::{Fingerprint, request::UserTurn};
use protocol::Caller;

use agent::summary;
use protocol::{
    chain::Upstream,
    id::SessionKey,
    session::{Contexts, Hints, SolutionChange, SolutionContext},
    transition::begin::Ask,
};

/// What the request asks. Whom it goes to and the first mode follow from its contexts, once they are known.
pub(super) fn ask(caller: &Caller, request: &UserTurn) -> Ask {
    let contexts = Contexts {
        agent: request.agent_context_id.clone(),
        conversation: request.conversation_context_id.clone(),
    };
    let session = SessionKey { org: caller.org.clone(), session: request.session_id.clone() };
    Ask {
        key: session.turn(request.turn_id.clone()),
        by: caller.user.clone(),
        fingerprint: request.fingerprint(),
        first_contexts: contexts.clone(),
        contexts,
        hints: Hints {
            workspace: request.workspace_id.clone(),
            repo: request.repo.clone(),
            language: request.language.clone(),
        },
        session_name: summary::name_of(request.instruction.as_deref()),
        instruction_summary: summary::summarize(request.instruction.as_deref().unwrap_or_default()),
        active_file_refs: Vec::new(),
        first_mode: String::new(),
        streamed: request.streaming,
        upstream: Upstream::default(),
        solution: solution(request),
    }
}

/// AGN-034 §4.5: a text replaces the session's, an empty one removes it, none leaves it.
fn solution(request: &UserTurn) -> SolutionChange {
    match request.solution_context_text.as_deref() {
        None => SolutionChange::Stays,
        Some(text) if text.trim().is_empty() => SolutionChange::Removed,
        Some(text) => SolutionChange::Replaced(SolutionContext {
            turn: request.turn_id.clone(),
            request: request.fingerprint(),
            text: Fingerprint::of_bytes(text.as_bytes()),
        }),
    }
}
