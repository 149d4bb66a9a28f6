//! The initial step of a turn: its plan, and no progress yet.

use agent::{
    attachments,
    attempt::{AttemptState, RecoveryPoint},
    context::{ResolvedContext, config::AgentConfig},
};
use contracts::{read::AgentSessionActiveFileRef, request::UserTurn};
use protocol::{
    chain::{ChainStart, HistoryOwner},
    session::{ChainHead, Session},
    turn::Turn,
};

/// The inputs of a turn's initial step.
pub(super) struct InitialInputs<'a> {
    /// The start of its provider chain.
    pub(super) start: ChainStart,
    /// The response to continue from, if the previous turn left one.
    pub(super) chain: Option<&'a ChainHead>,
    /// The files to attach.
    pub(super) files: Vec<AgentSessionActiveFileRef>,
    /// The owner of its conversation history.
    pub(super) history_owner: HistoryOwner,
}

/// Builds the initial step.
pub(super) fn initial_step(
    config: &AgentConfig,
    turn: &Turn,
    InitialInputs { start, chain, files, history_owner }: InitialInputs<'_>,
    session: &Session,
    effective: &ResolvedContext,
    request: &UserTurn,
) -> RecoveryPoint {
    let chain = chain.filter(|_| start.previous_response_id().is_some());
    let mut state = AttemptState::default();
    state.prompt.mode = chain.and_then(|chain| chain.mode.clone());
    state.prompt.solution = chain.and_then(|chain| chain.solution);
    state.effects.warnings = attachments::warnings(request, &files, &effective.budgets);
    let mut spec = config.turn_spec(effective, &turn.mode, history_owner);
    spec.prompt.solution = session.solution.clone();
    spec.inputs.files = files;
    spec.history.cutoff_depth = session.cutoff_depth();
    spec.history.hidden_depth = session.hidden_depth();
    spec.history.start = Some(start).filter(|start| *start != turn.chain);
    RecoveryPoint { spec, state }
}
