//! The submission: the parts of a request on which the turn's lifecycle depends.

use agent::text::excerpt;
use contracts::{Fingerprint, request::UserTurn};
use protocol::{
    Caller,
    id::{AttemptId, SessionKey},
    session::{ContextPins, Contexts, Hints, IdOrigin, SolutionChange, SolutionContext},
    transition::begin::Submission,
};

/// Builds the submission of a request.
pub(crate) fn submission(
    caller: &Caller,
    request: &UserTurn,
    fingerprint: Fingerprint,
    id: AttemptId,
) -> Submission {
    let session = SessionKey { org: caller.org.clone(), session: request.session_id.clone() };
    Submission {
        key: session.turn(request.turn_id.clone()),
        id_origin: IdOrigin::Client,
        requested_by: caller.user.clone(),
        fingerprint,
        id: Some(id.clone()),
        contexts: Contexts {
            agent: request.agent_context_id.clone(),
            conversation: request.conversation_context_id.clone(),
            pins: ContextPins::default(),
        },
        hints: Hints {
            workspace: request.workspace_id.clone(),
            repo: request.repo.clone(),
            language: request.language.clone(),
        },
        session_name: excerpt::session_name(request.instruction.as_deref()),
        instruction_summary: excerpt::excerpt_of(request.instruction.as_deref().unwrap_or_default()),
        solution: solution_change(request, fingerprint, id),
        streamed: request.streaming,
    }
}

/// Returns the change of the session's solution context: a text replaces it, an empty text removes it, and no text
/// keeps it.
fn solution_change(request: &UserTurn, fingerprint: Fingerprint, id: AttemptId) -> SolutionChange {
    match request.solution_context_text.as_deref() {
        None => SolutionChange::Unchanged,
        Some(text) if text.trim().is_empty() => SolutionChange::Removed,
        Some(text) => SolutionChange::Replaced(SolutionContext {
            session: Some(request.session_id.clone()),
            turn: request.turn_id.clone(),
            request: fingerprint,
            submission_id: Some(id),
            text: Fingerprint::hash_bytes(text.as_bytes()),
        }),
    }
}
